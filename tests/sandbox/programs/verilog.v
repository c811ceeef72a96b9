module main;
  reg [8*100-1:0] line;
  integer got;
  reg spinning;
  initial begin
    got = $fgets(line, 32'h8000_0000);
    if (line[8*got-1 -: 40] == "echo ") $write("é %0s", line & ((800'd1 << 8*(got-5)) - 1));
    if (line[8*5-1:0] == "exit\n" && got == 5) $fatal;
    if (line[8*6-1:0] == "crash\n") $fatal;
    spinning = line[8*5-1:0] == "spin\n";
    while (spinning) got = got + 1;
    $finish(0);
  end
endmodule
