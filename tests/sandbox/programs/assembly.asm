; Reads a line; prints "é " and what stands behind "echo ", or does what its first letter says.
section .bss
line: resb 1000
section .data
accent: db 0xc3, 0xa9, " "
section .text
global _start
_start:
    xor rax, rax
    xor rdi, rdi
    mov rsi, line
    mov rdx, 1000
    syscall
    mov r12, rax
    mov rax, 1
    mov rdi, 1
    cmp byte [line + 1], 'c' ; echo
    je echo
    cmp byte [line + 1], 'x' ; exit
    je leave3
    cmp byte [line + 1], 'r' ; crash
    je crash
    cmp byte [line + 1], 'p' ; spin
    je spin
    cmp byte [line + 1], 'e' ; memory
    je memory
    xor rdi, rdi
    jmp leave
echo:
    mov rsi, accent
    mov rdx, 3
    syscall
    mov rax, 1
    mov rdi, 1
    mov rsi, line + 5
    mov rdx, r12
    sub rdx, 5
    syscall
    xor rdi, rdi
    jmp leave
leave3:
    mov rdi, 3
leave:
    mov rax, 60
    syscall
crash:
    ud2
spin:
    jmp spin
memory: ; brk, page by page
    mov rax, 12
    xor rdi, rdi
    syscall
more:
    mov rbx, rax
    lea rdi, [rax + 4096]
    mov rax, 12
    syscall
    mov byte [rbx], 1
    jmp more
