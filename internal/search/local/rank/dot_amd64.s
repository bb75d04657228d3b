#include "textflag.h"

// func dotFourFast(x *byte, y *int8, n int) int32
TEXT ·dotFourFast(SB), NOSPLIT, $0-28
	MOVQ x+0(FP), SI
	MOVQ y+8(FP), DI
	MOVQ n+16(FP), CX
	LEAQ (DI)(CX*1), DX          // values of the upper halves
	MOVL $0x0f0f0f0f, AX
	MOVQ AX, X0
	VPBROADCASTD X0, Y7          // mask of the lower halves
	MOVL $0x88888888, AX
	MOVQ AX, X0
	VPBROADCASTD X0, Y6          // turns signed values into unsigned ones, 8 higher
	VPXOR Y5, Y5, Y5             // sums of 16 bits
loop:
	VPXOR (SI), Y6, Y0
	VPSRLW $4, Y0, Y1
	VPAND Y7, Y0, Y0
	VPAND Y7, Y1, Y1
	VPMADDUBSW (DI), Y0, Y0
	VPMADDUBSW (DX), Y1, Y1
	VPADDW Y0, Y5, Y5
	VPADDW Y1, Y5, Y5
	ADDQ $32, SI
	ADDQ $32, DI
	ADDQ $32, DX
	SUBQ $32, CX
	JNZ loop
	VPCMPEQW Y1, Y1, Y1
	VPSRLW $15, Y1, Y1           // ones
	VPMADDWD Y1, Y5, Y5          // sums of 32 bits
	VEXTRACTI128 $1, Y5, X0
	VPADDD X0, X5, X5
	VPSHUFD $0x4e, X5, X0
	VPADDD X0, X5, X5
	VPSHUFD $0xb1, X5, X0
	VPADDD X0, X5, X5
	VMOVD X5, AX
	VZEROUPPER
	MOVL AX, ret+24(FP)
	RET

// func dotsFourFast(x *byte, rows *int8, n int, products *int32)
TEXT ·dotsFourFast(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ rows+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ products+24(FP), DX
	MOVL $0x0f0f0f0f, AX
	MOVQ AX, X14
	VPBROADCASTD X14, Y14        // mask of the lower halves
	MOVL $0x88888888, AX
	MOVQ AX, X15
	VPBROADCASTD X15, Y15        // turns signed values into unsigned ones, 8 higher
	VPCMPEQW Y13, Y13, Y13
	VPSRLW $15, Y13, Y13         // ones
	VPXOR 0(SI), Y15, Y0
	VPXOR 32(SI), Y15, Y1
	VPXOR 64(SI), Y15, Y2
	VPXOR 96(SI), Y15, Y3
	VPSRLW $4, Y0, Y4
	VPSRLW $4, Y1, Y5
	VPSRLW $4, Y2, Y6
	VPSRLW $4, Y3, Y7
	VPAND Y14, Y0, Y0
	VPAND Y14, Y1, Y1
	VPAND Y14, Y2, Y2
	VPAND Y14, Y3, Y3
	VPAND Y14, Y4, Y4
	VPAND Y14, Y5, Y5
	VPAND Y14, Y6, Y6
	VPAND Y14, Y7, Y7
row:
	VPMADDUBSW 0(DI), Y0, Y8
	VPMADDUBSW 32(DI), Y1, Y9
	VPMADDUBSW 64(DI), Y2, Y10
	VPMADDUBSW 96(DI), Y3, Y11
	VPADDW Y9, Y8, Y8
	VPADDW Y11, Y10, Y10
	VPMADDUBSW 128(DI), Y4, Y9
	VPMADDUBSW 160(DI), Y5, Y11
	VPADDW Y9, Y8, Y8
	VPADDW Y11, Y10, Y10
	VPMADDUBSW 192(DI), Y6, Y9
	VPMADDUBSW 224(DI), Y7, Y11
	VPADDW Y9, Y8, Y8
	VPADDW Y11, Y10, Y10
	VPADDW Y10, Y8, Y8           // sums of 16 bits
	VPMADDWD Y13, Y8, Y8         // sums of 32 bits
	VEXTRACTI128 $1, Y8, X9
	VPADDD X9, X8, X8
	VPSHUFD $0x4e, X8, X9
	VPADDD X9, X8, X8
	VPSHUFD $0xb1, X8, X9
	VPADDD X9, X8, X8
	VMOVD X8, (DX)
	ADDQ $256, DI
	ADDQ $4, DX
	DECQ CX
	JNZ row
	VZEROUPPER
	RET

// func nearCodesFast(codes *uint64, n int, code *uint64, limit int, near *uint16) int
TEXT ·nearCodesFast(SB), NOSPLIT, $0-48
	MOVQ codes+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ code+16(FP), DI
	MOVQ limit+24(FP), DX
	MOVQ 0(DI), R8
	MOVQ 8(DI), R9
	MOVQ 16(DI), R10
	MOVQ 24(DI), R11
	MOVQ near+32(FP), DI
	XORQ BX, BX                  // number of units within the limit
	XORQ R12, R12                // unit
unit:
	MOVQ 0(SI), AX
	MOVQ 8(SI), R13
	XORQ R8, AX
	XORQ R9, R13
	POPCNTQ AX, AX
	POPCNTQ R13, R13
	ADDQ R13, AX
	MOVQ 16(SI), R13
	XORQ R10, R13
	POPCNTQ R13, R13
	ADDQ R13, AX
	MOVQ 24(SI), R13
	XORQ R11, R13
	POPCNTQ R13, R13
	ADDQ R13, AX
	CMPQ AX, DX
	JGT far
	MOVW R12, (DI)(BX*2)
	INCQ BX
far:
	ADDQ $32, SI
	INCQ R12
	CMPQ R12, CX
	JLT unit
	MOVQ BX, ret+40(FP)
	RET

// The number of bits of each value of four bits.
DATA nibbleBits<>+0(SB)/8, $0x0302020102010100
DATA nibbleBits<>+8(SB)/8, $0x0403030203020201
GLOBL nibbleBits<>(SB), RODATA|NOPTR, $16

// The order in which nearCodesAVX512 adds the halves of eight units.
DATA halves<>+0(SB)/8, $0x0d090c0805010400
DATA halves<>+8(SB)/8, $0x0f0b0e0a07030602
GLOBL halves<>(SB), RODATA|NOPTR, $16

// COUNT sets c to the numbers of bits in the bytes of two codes that differ from Z0.
#define COUNT(offset, c) \
	VPXORQ offset(SI), Z0, Z16 \
	VPANDQ Z1, Z16, Z17        \
	VPSRLQ $4, Z16, Z16        \
	VPANDQ Z1, Z16, Z16        \
	VPSHUFB Z17, Z2, Z17       \
	VPSHUFB Z16, Z2, Z16       \
	VPADDB Z16, Z17, c

// func nearCodesAVX512(codes *uint64, n int, code *uint64, limit int, within *uint64, near *uint16) int
TEXT ·nearCodesAVX512(SB), NOSPLIT, $0-56
	MOVQ codes+0(FP), SI
	MOVQ n+8(FP), CX
	MOVQ code+16(FP), DI
	MOVQ within+32(FP), R8
	MOVQ near+40(FP), R9
	VBROADCASTI64X4 (DI), Z0
	MOVL $0x0f0f0f0f, AX
	VPBROADCASTD AX, Z1
	VBROADCASTI32X4 nibbleBits<>(SB), Z2
	VPBROADCASTQ limit+24(FP), Z3
	VPMOVZXBQ halves<>+0(SB), Z4
	VPMOVZXBQ halves<>+8(SB), Z5
	VPXORQ Z6, Z6, Z6
	XORQ BX, BX                  // number of units within the limit
	XORQ R12, R12                // first unit of eight
eight:
	COUNT(0, Z8)
	COUNT(64, Z9)
	COUNT(128, Z10)
	COUNT(192, Z11)
	VPUNPCKLQDQ Z9, Z8, Z12
	VPUNPCKHQDQ Z9, Z8, Z13
	VPADDB Z13, Z12, Z12         // halves of units 0, 2, 0, 2, 1, 3, 1, 3
	VPUNPCKLQDQ Z11, Z10, Z14
	VPUNPCKHQDQ Z11, Z10, Z15
	VPADDB Z15, Z14, Z14         // halves of units 4, 6, 4, 6, 5, 7, 5, 7
	VMOVDQA64 Z12, Z13
	VPERMT2Q Z14, Z4, Z12
	VPERMT2Q Z14, Z5, Z13
	VPADDB Z13, Z12, Z12
	VPSADBW Z6, Z12, Z12         // distances of the eight units
	VPCMPQ $2, Z3, Z12, K1
	KMOVW K1, AX
	MOVBLZX (R8), DX
	ANDL DX, AX
	JZ next
found:
	BSFL AX, DX
	ADDL R12, DX
	MOVW DX, (R9)(BX*2)
	INCQ BX
	LEAL -1(AX), DX
	ANDL DX, AX
	JNZ found
next:
	ADDQ $256, SI
	INCQ R8
	ADDQ $8, R12
	DECQ CX
	JNZ eight
	VZEROUPPER
	MOVQ BX, ret+48(FP)
	RET
