create line 1000 allot
variable got
: echo? line 5 s" echo " compare 0= ;
: is? ( addr u -- flag ) line got @ 2swap compare 0= ;
: take begin 1048576 allocate throw 1048576 1 fill again ;
: run
  line 1000 stdin read-line throw drop got !
  echo? if s" é " type line 5 + got @ 5 - type cr then
  s" exit" is? if 3 (bye) then
  s" crash" is? if -9 throw then
  s" spin" is? if begin again then
  s" memory" is? if take then ;
run
