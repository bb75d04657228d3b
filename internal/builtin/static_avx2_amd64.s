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

	// Most words are not in the first cache. Their lines are requested at once.
	XORQ AX, AX

prefetch:
	MOVQ (SI)(AX*8), R9
	PREFETCHT0 (R9)
	PREFETCHT0 64(R9)
	PREFETCHT0 128(R9)
	PREFETCHT0 192(R9)
	PREFETCHT0 256(R9)
	PREFETCHT0 320(R9)
	PREFETCHT0 384(R9)
	PREFETCHT0 448(R9)
	PREFETCHT0 512(R9)
	INCQ AX
	CMPQ AX, CX
	JLT prefetch

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

// DOT64 adds the products of the 64 values in Y0 to Y3 with those at base to the four 64-bit lanes of acc. A 32-bit lane
// adds eight products before it is widened.
#define DOT64(base, acc) \
	VPMADDWD (base)(AX*2), Y0, Y4 \
	VPMADDWD 32(base)(AX*2), Y1, Y5 \
	VPMADDWD 64(base)(AX*2), Y2, Y6 \
	VPMADDWD 96(base)(AX*2), Y3, Y7 \
	VPADDD Y5, Y4, Y4 \
	VPADDD Y7, Y6, Y6 \
	VPADDD Y6, Y4, Y4 \
	VPMOVSXDQ X4, Y5 \
	VEXTRACTI128 $1, Y4, X4 \
	VPMOVSXDQ X4, Y4 \
	VPADDQ Y5, acc, acc \
	VPADDQ Y4, acc, acc

// STORE stores the sum of the lanes of acc (low: its lower half).
#define STORE(acc, low, address) \
	VEXTRACTI128 $1, acc, X4 \
	VPADDQ X4, low, low \
	VPSRLDQ $8, low, X4 \
	VPADDQ X4, low, low \
	VMOVQ low, address

// func dotsAVX2(dst *int64, n int, rows, vectors *int16, width int)
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
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
	VPXOR Y8, Y8, Y8
	VPXOR Y9, Y9, Y9
	VPXOR Y10, Y10, Y10
	VPXOR Y11, Y11, Y11
	XORQ AX, AX

step:
	VMOVDQU (SI)(AX*2), Y0
	VMOVDQU 32(SI)(AX*2), Y1
	VMOVDQU 64(SI)(AX*2), Y2
	VMOVDQU 96(SI)(AX*2), Y3
	DOT64(DX, Y8)
	DOT64(R10, Y9)
	DOT64(R11, Y10)
	DOT64(R12, Y11)
	ADDQ $64, AX
	CMPQ AX, R8
	JLT step
	STORE(Y8, X8, (DI))
	STORE(Y9, X9, (DI)(R9*1))
	STORE(Y10, X10, (DI)(R9*2))
	STORE(Y11, X11, (DI)(BX*1))
	ADDQ $8, DI
	LEAQ (SI)(R8*2), SI
	DECQ CX
	JNZ row
	VZEROUPPER
	RET
