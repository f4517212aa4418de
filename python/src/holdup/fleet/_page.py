"""placeholder"""
def page(summary, changes=None): raise NotImplementedError
