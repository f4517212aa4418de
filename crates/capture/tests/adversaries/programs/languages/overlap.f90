! Fortran, whose runtime has a main program of its own and handles signals; subroutines call the driver through iso_c_binding.
! Expected: it ends as bare, and every call is recorded.
program overlap
  use, intrinsic :: iso_c_binding
  implicit none
  interface
    subroutine adversary_begin() bind(c)
    end subroutine
    subroutine adversary_calls(count) bind(c)
      import :: c_int
      integer(c_int), value :: count
    end subroutine
    subroutine adversary_slow_call(ms) bind(c)
      import :: c_int
      integer(c_int), value :: ms
    end subroutine
  end interface
  integer :: round
  real :: total
  call adversary_begin()
  total = 0
  do round = 1, 200
    call adversary_calls(5_c_int)
    total = total + sqrt(real(round))
  end do
  call adversary_slow_call(5_c_int)
  print '(f0.2)', total
end program
