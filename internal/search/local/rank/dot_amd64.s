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
