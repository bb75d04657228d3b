#include "textflag.h"

// ADD8 adds eight 16-bit values of the word at R9, shifted by X15, to acc.
#define ADD8(offset, acc) \
	VPMOVSXWD offset(R9)(BX*1), Y8 \
	VPSLLD X15, Y8, Y8 \
	VPADDD Y8, acc, acc

// func addWordsAVX2(sum *[Dimensions]int32, words **word, n int)
// Four passes over the words, each with 64 dimensions in registers.
TEXT ·addWordsAVX2(SB), NOSPLIT, $0-24
	MOVQ sum+0(FP), DI
	MOVQ words+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ BX, BX // offset of the pass in a word

pass:
	VMOVDQU (DI), Y0
	VMOVDQU 32(DI), Y1
	VMOVDQU 64(DI), Y2
	VMOVDQU 96(DI), Y3
	VMOVDQU 128(DI), Y4
	VMOVDQU 160(DI), Y5
	VMOVDQU 192(DI), Y6
	VMOVDQU 224(DI), Y7
	XORQ AX, AX

next:
	MOVQ (SI)(AX*8), R9
	VMOVQ 512(R9), X15
	ADD8(0, Y0)
	ADD8(16, Y1)
	ADD8(32, Y2)
	ADD8(48, Y3)
	ADD8(64, Y4)
	ADD8(80, Y5)
	ADD8(96, Y6)
	ADD8(112, Y7)
	INCQ AX
	CMPQ AX, CX
	JLT next
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	VMOVDQU Y2, 64(DI)
	VMOVDQU Y3, 96(DI)
	VMOVDQU Y4, 128(DI)
	VMOVDQU Y5, 160(DI)
	VMOVDQU Y6, 192(DI)
	VMOVDQU Y7, 224(DI)
	ADDQ $256, DI
	ADDQ $128, BX
	CMPQ BX, $512
	JLT pass
	VZEROUPPER
	RET

// MULADD16 adds products of 16 values, in pairs, to acc.
#define MULADD16(offset, acc, tmp) \
	VMOVDQU offset(SI)(AX*2), tmp \
	VPMADDWD offset(DX)(AX*2), tmp, tmp \
	VPADDD tmp, acc, acc

// WIDEN adds the eight 32-bit lanes of acc (low: its lower half) to the four 64-bit lanes of Y8.
#define WIDEN(acc, low, tmp) \
	VPMOVSXDQ low, tmp \
	VEXTRACTI128 $1, acc, low \
	VPMOVSXDQ low, acc \
	VPADDQ tmp, Y8, Y8 \
	VPADDQ acc, Y8, Y8

// func dotsAVX2(dst *int64, n int, rows, x *int16, width int)
// A 32-bit lane adds eight products before it is widened.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ n+8(FP), CX
	MOVQ rows+16(FP), SI
	MOVQ x+24(FP), DX
	MOVQ width+32(FP), R8

row:
	VPXOR Y8, Y8, Y8
	XORQ AX, AX

step:
	VMOVDQU (SI)(AX*2), Y0
	VPMADDWD (DX)(AX*2), Y0, Y0
	VMOVDQU 32(SI)(AX*2), Y1
	VPMADDWD 32(DX)(AX*2), Y1, Y1
	MULADD16(64, Y0, Y4)
	MULADD16(96, Y1, Y5)
	MULADD16(128, Y0, Y6)
	MULADD16(160, Y1, Y7)
	MULADD16(192, Y0, Y4)
	MULADD16(224, Y1, Y5)
	WIDEN(Y0, X0, Y6)
	WIDEN(Y1, X1, Y7)
	ADDQ $128, AX
	CMPQ AX, R8
	JLT step
	VEXTRACTI128 $1, Y8, X0
	VPADDQ X0, X8, X8
	VPSRLDQ $8, X8, X0
	VPADDQ X0, X8, X8
	VMOVQ X8, (DI)
	ADDQ $8, DI
	LEAQ (SI)(R8*2), SI
	DECQ CX
	JNZ row
	VZEROUPPER
	RET
