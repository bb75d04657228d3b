#include "textflag.h"

// DOT128 adds the products of the 128 values in Z0 to Z3 with those at base to the eight 64-bit lanes of acc. A 32-bit
// lane adds eight products before it is widened.
#define DOT128(base, acc) \
	VPMADDWD (base)(AX*2), Z0, Z4 \
	VPMADDWD 64(base)(AX*2), Z1, Z5 \
	VPMADDWD 128(base)(AX*2), Z2, Z6 \
	VPMADDWD 192(base)(AX*2), Z3, Z7 \
	VPADDD Z5, Z4, Z4 \
	VPADDD Z7, Z6, Z6 \
	VPADDD Z6, Z4, Z4 \
	VPMOVSXDQ Y4, Z5 \
	VEXTRACTI64X4 $1, Z4, Y4 \
	VPMOVSXDQ Y4, Z4 \
	VPADDQ Z5, acc, acc \
	VPADDQ Z4, acc, acc

// STORE stores the sum of the lanes of acc (half and low: its lower parts).
#define STORE(acc, half, low, address) \
	VEXTRACTI64X4 $1, acc, Y4 \
	VPADDQ Y4, half, half \
	VEXTRACTI128 $1, half, X4 \
	VPADDQ X4, low, low \
	VPSRLDQ $8, low, X4 \
	VPADDQ X4, low, low \
	VMOVQ low, address

// func dotsAVX512(dst *int64, n int, rows, vectors *int16, width int)
TEXT ·dotsAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ rows+16(FP), SI
	MOVQ vectors+24(FP), DX
	MOVQ width+32(FP), R8
	LEAQ (DX)(R8*2), R10
	LEAQ (R10)(R8*2), R11
	LEAQ (R11)(R8*2), R12
	LEAQ (CX*8), R9 // size of the products with one vector
	LEAQ (R9)(R9*2), BX

row:
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	XORQ AX, AX

step:
	VMOVDQU64 (SI)(AX*2), Z0
	VMOVDQU64 64(SI)(AX*2), Z1
	VMOVDQU64 128(SI)(AX*2), Z2
	VMOVDQU64 192(SI)(AX*2), Z3
	DOT128(DX, Z8)
	DOT128(R10, Z9)
	DOT128(R11, Z10)
	DOT128(R12, Z11)
	ADDQ $128, AX
	CMPQ AX, R8
	JLT step
	STORE(Z8, Y8, X8, (DI))
	STORE(Z9, Y9, X9, (DI)(R9*1))
	STORE(Z10, Y10, X10, (DI)(R9*2))
	STORE(Z11, Y11, X11, (DI)(BX*1))
	ADDQ $8, DI
	LEAQ (SI)(R8*2), SI
	DECQ CX
	JNZ row
	VZEROUPPER
	RET
