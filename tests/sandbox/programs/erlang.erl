
main(_) ->
    ok = io:setopts([{encoding, unicode}]),
    case string:trim(io:get_line("")) of
        "echo " ++ Text -> io:format("é ~ts~n", [Text]);
        "exit" -> halt(3);
        "crash" -> error(no);
        "spin" -> spin();
        "memory" -> hold([]);
        _ -> ok
    end.

spin() -> spin().

hold(Held) -> hold([binary:copy(<<1>>, 1048576) | Held]).
