"""A notebook with explanations as a browser shows it, for a person to look at: `notebook.py FOLDER` writes light.png and
dark.png there. Needs jupyter, nbconvert and chromium; the tests need none of them."""

import subprocess
import sys
from pathlib import Path

import nbformat

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CELLS = [
    f"import holdup\nholdup.explain({str(EXAMPLES / 'recorded-d2h-stall.holdup')!r})",
    f"holdup.explain({str(EXAMPLES / 'recorded-launch-convoy.holdup')!r})",
    f"explanation = holdup.explain({str(EXAMPLES / 'pytorch-d2h-stall.json.gz')!r})\nexplanation",
    "explanation.to_pandas()[['id', 'cause', 'cost_ns', 'thread', 'call']].head(3)",
]


def main() -> None:
    """Runs the notebook, and takes a picture in both themes."""
    folder = Path(sys.argv[1]).resolve()
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    nbformat.write(notebook, folder / "notebook.ipynb")
    for theme in ("light", "dark"):
        convert = [sys.executable, "-m", "nbconvert", "--to", "html", "--execute", "--theme", theme, "--output", theme]
        subprocess.run([*convert, "notebook.ipynb"], cwd=folder, check=True)
        browser = ["chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1100,1500"]
        picture = [f"--screenshot={folder / theme}.png", (folder / f"{theme}.html").as_uri()]
        subprocess.run([*browser, *picture], check=True, capture_output=True, timeout=60)
        print(folder / f"{theme}.png")


if __name__ == "__main__":
    main()
