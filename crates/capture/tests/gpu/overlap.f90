! Copies in, fills and copies out in pieces, in one stream and then in four: a Fortran program that calls CUDA's runtime through
! iso_c_binding, as programs do that no CUDA Fortran compiler builds.
!
!     gfortran -g -O1 overlap.f90 -o overlap -L/usr/local/cuda/lib64 -lcudart
module cuda
  use, intrinsic :: iso_c_binding
  implicit none
  integer(c_int), parameter :: to_device = 1, to_host = 2
  interface
    integer(c_int) function cudaMalloc(memory, bytes) bind(c, name='cudaMalloc')
      import
      type(c_ptr), intent(out) :: memory
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cudaMallocHost(memory, bytes) bind(c, name='cudaMallocHost')
      import
      type(c_ptr), intent(out) :: memory
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cudaMemcpyAsync(to, from, bytes, kind, stream) bind(c, name='cudaMemcpyAsync')
      import
      type(c_ptr), value :: to, from, stream
      integer(c_size_t), value :: bytes
      integer(c_int), value :: kind
    end function
    integer(c_int) function cudaMemsetAsync(memory, byte, bytes, stream) bind(c, name='cudaMemsetAsync')
      import
      type(c_ptr), value :: memory, stream
      integer(c_int), value :: byte
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cudaStreamCreate(stream) bind(c, name='cudaStreamCreate')
      import
      type(c_ptr), intent(out) :: stream
    end function
    integer(c_int) function cudaDeviceSynchronize() bind(c, name='cudaDeviceSynchronize')
      import
    end function
  end interface
contains
  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status /= 0) error stop 'a call of CUDA failed'
  end subroutine
end module

program overlap
  use cuda
  implicit none
  integer(c_size_t), parameter :: bytes = 16_c_size_t * 1024 * 1024
  integer, parameter :: pieces = 4, rounds = 50
  type(c_ptr) :: host, gpu, streams(pieces)
  integer :: at
  call check(cudaMallocHost(host, bytes))
  call check(cudaMalloc(gpu, bytes))
  do at = 1, pieces
    call check(cudaStreamCreate(streams(at)))
  end do
  call sequential(rounds)
  call split(rounds)
  print '(a)', 'done'
contains
  subroutine sequential(rounds)
    integer, intent(in) :: rounds
    integer :: round
    do round = 1, rounds
      call piece(0_c_size_t, bytes, streams(1))
      call check(cudaDeviceSynchronize())
    end do
  end subroutine

  subroutine split(rounds)
    integer, intent(in) :: rounds
    integer :: round, at
    do round = 1, rounds
      do at = 1, pieces
        call piece((at - 1) * (bytes / pieces), bytes / pieces, streams(at))
      end do
      call check(cudaDeviceSynchronize())
    end do
  end subroutine

  subroutine piece(offset, length, stream)
    integer(c_size_t), intent(in) :: offset, length
    type(c_ptr), intent(in) :: stream
    type(c_ptr) :: on_host, on_gpu
    on_host = shifted(host, offset)
    on_gpu = shifted(gpu, offset)
    call check(cudaMemcpyAsync(on_gpu, on_host, length, to_device, stream))
    call check(cudaMemsetAsync(on_gpu, 1, length, stream))
    call check(cudaMemcpyAsync(on_host, on_gpu, length, to_host, stream))
  end subroutine

  type(c_ptr) function shifted(memory, offset)
    type(c_ptr), intent(in) :: memory
    integer(c_size_t), intent(in) :: offset
    shifted = transfer(transfer(memory, offset) + offset, memory)
  end function
end program
