program main
  implicit none
  character(len=1000) :: line
  type node
    integer, allocatable :: held(:)
    type(node), pointer :: next => null()
  end type
  type(node), pointer :: first, more
  integer(8) :: n
  read (*, '(A)') line
  first => null()
  if (line(1:5) == 'echo ') print '(A)', 'é ' // trim(line(6:))
  if (line == 'exit') call exit(3)
  if (line == 'crash') call abort()
  n = 0
  do while (line == 'spin')
    n = n + 1
    if (mod(n, 100000000000_8) == 0) print *, n
  end do
  do while (line == 'memory')
    allocate (more)
    allocate (more%held(262144))
    more%held = 1
    more%next => first
    first => more
  end do
end program
