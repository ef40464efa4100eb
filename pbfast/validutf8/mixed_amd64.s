//go:build !purego

#include "textflag.h"

// Tables by the upper and the lower half of a byte and by the upper half of the byte after it. Each
// bit is one way to be wrong, and a pair of bytes is wrong in the ways that all three tables name:
//   01 a lead without its continuation   02 a continuation after ASCII     04 E0 80 to E0 9F
//   08 F4 90 and beyond, F5 to FF        10 ED A0 to ED BF                 20 C0, C1
//   40 F0 80 to F0 8F, F5 to FF          80 two continuations: wrong unless a lead asks for them
DATA firstHigh<>+0(SB)/8, $0x0202020202020202
DATA firstHigh<>+8(SB)/8, $0x4915012180808080
GLOBL firstHigh<>(SB), RODATA|NOPTR, $16

DATA firstLow<>+0(SB)/8, $0xcbcbcb8b8383a3e7
DATA firstLow<>+8(SB)/8, $0xcbcbdbcbcbcbcbcb
GLOBL firstLow<>(SB), RODATA|NOPTR, $16

DATA secondHigh<>+0(SB)/8, $0x0101010101010101
DATA secondHigh<>+8(SB)/8, $0x01010101babaaee6
GLOBL secondHigh<>(SB), RODATA|NOPTR, $16

DATA nibble<>+0(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA nibble<>+8(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL nibble<>(SB), RODATA|NOPTR, $16

// What is at least this, two or three bytes before, asks for a continuation: bit 7 of the
// difference says so.
DATA lead3<>+0(SB)/8, $0x6060606060606060
DATA lead3<>+8(SB)/8, $0x6060606060606060
GLOBL lead3<>(SB), RODATA|NOPTR, $16

DATA lead4<>+0(SB)/8, $0x7070707070707070
DATA lead4<>+8(SB)/8, $0x7070707070707070
GLOBL lead4<>(SB), RODATA|NOPTR, $16

DATA high<>+0(SB)/8, $0x8080808080808080
DATA high<>+8(SB)/8, $0x8080808080808080
GLOBL high<>(SB), RODATA|NOPTR, $16

DATA butThree<>+0(SB)/8, $0xffffffffff000000
DATA butThree<>+8(SB)/8, $0xffffffffffffffff
GLOBL butThree<>(SB), RODATA|NOPTR, $16

#define CONSTANTS \
	MOVOU firstHigh<>(SB), X9   \
	MOVOU firstLow<>(SB), X10   \
	MOVOU secondHigh<>(SB), X11 \
	MOVOU nibble<>(SB), X12     \
	MOVOU lead3<>(SB), X13      \
	MOVOU lead4<>(SB), X14      \
	MOVOU high<>(SB), X8        \
	PXOR  X7, X7

// CHECK adds to X7 what is wrong in the bytes X0, before which are X1, X2 and X3 by one, two and
// three bytes.
#define CHECK \
	MOVO    X1, X4   \
	PSRLW   $4, X4   \
	PAND    X12, X4  \
	PAND    X12, X1  \
	PSRLW   $4, X0   \
	PAND    X12, X0  \
	MOVO    X9, X5   \
	PSHUFB  X4, X5   \
	MOVO    X10, X6  \
	PSHUFB  X1, X6   \
	PAND    X6, X5   \
	MOVO    X11, X6  \
	PSHUFB  X0, X6   \
	PAND    X6, X5   \
	PSUBUSB X13, X2  \
	PSUBUSB X14, X3  \
	POR     X3, X2   \
	PAND    X8, X2   \
	PXOR    X5, X2   \
	POR     X2, X7

#define SHIFTED \
	MOVO   X0, X1  \
	PSLLO  $1, X1  \
	MOVO   X0, X2  \
	PSLLO  $2, X2  \
	MOVO   X0, X3  \
	PSLLO  $3, X3

#define RESULT \
	PXOR     X0, X0      \
	PCMPEQB  X0, X7      \
	PMOVMSKB X7, AX      \
	CMPL     AX, $0xffff \
	SETEQ    AX

// func block(lo, hi uint64) bool
TEXT ·block(SB), NOSPLIT, $0-17
	MOVQ       lo+0(FP), X0
	MOVQ       hi+8(FP), X1
	PUNPCKLQDQ X1, X0
	CONSTANTS
	SHIFTED
	CHECK
	RESULT
	MOVB       AX, ret+16(FP)
	RET

// func blocks(p *byte, n int) bool
TEXT ·blocks(SB), NOSPLIT, $0-17
	MOVQ  p+0(FP), SI
	MOVQ  n+8(FP), DX
	LEAQ  -16(SI)(DX*1), DI // where the last block begins
	CONSTANTS
	CMPQ  DX, $19
	JB    short
	MOVOU (SI), X0
	SHIFTED

next:
	CHECK
	ADDQ  $16, SI
	CMPQ  SI, DI
	JA    last
	MOVOU (SI), X0
	MOVOU -1(SI), X1
	MOVOU -2(SI), X2
	MOVOU -3(SI), X3
	JMP   next

last:
	MOVOU (DI), X0
	MOVOU -1(DI), X1
	MOVOU -2(DI), X2
	MOVOU -3(DI), X3
	CHECK
	RESULT
	MOVB  AX, ret+16(FP)
	RET

short: // of the last block, the first block checks those bytes that have no three before them
	MOVOU (DI), X0
	SHIFTED
	CHECK
	MOVOU butThree<>(SB), X0
	PAND  X0, X7
	MOVOU (SI), X0
	SHIFTED
	CHECK
	RESULT
	MOVB  AX, ret+16(FP)
	RET

// func ssse3() bool
TEXT ·ssse3(SB), NOSPLIT, $0-1
	MOVL $1, AX
	XORL CX, CX
	CPUID
	SHRL $9, CX
	ANDL $1, CX
	MOVB CX, ret+0(FP)
	RET
