with Ada.Command_Line;
with Ada.Text_IO; use Ada.Text_IO;
procedure Main is
   type Block is array (1 .. 262_144) of Integer;
   type Node;
   type Link is access Node;
   type Node is record
      Held : Block := (others => 1);
      Next : Link;
   end record;
   First : Link;
   Count : Integer := 0;
   pragma Volatile (Count);
   Line  : constant String := Get_Line;
begin
   if Line'Length > 5 and then Line (1 .. 5) = "echo " then
      Put_Line ("é " & Line (6 .. Line'Last));
   elsif Line = "exit" then
      Ada.Command_Line.Set_Exit_Status (3);
   elsif Line = "crash" then
      raise Program_Error;
   elsif Line = "spin" then
      loop
         Count := (Count + 1) mod 1000;
      end loop;
   elsif Line = "memory" then
      loop
         First := new Node'(Held => (others => 1), Next => First);
      end loop;
   end if;
end Main;
