identification division.
program-id. prog.
data division.
working-storage section.
01 ws-line pic x(200).
01 ws-count pic 9(9).
procedure division.
    accept ws-line
    if ws-line(1:5) = "echo "
        display "é " function trim(ws-line(6:))
    end-if
    if ws-line = "exit"
        move 3 to return-code
    end-if
    if ws-line = "crash"
        call "no-such-program"
    end-if
    perform until ws-line not = "spin"
        add 1 to ws-count
    end-perform
    goback.
