#include "textflag.h"

// Instructions that the assembler does not know. Arguments are numbers of vector registers.
#define SXTL_8H(n, d) WORD $(0x0f08a400 | n<<5 | d)
#define SXTL2_8H(n, d) WORD $(0x4f08a400 | n<<5 | d)
#define SXTL_4S(n, d) WORD $(0x0f10a400 | n<<5 | d)
#define SXTL2_4S(n, d) WORD $(0x4f10a400 | n<<5 | d)
#define SCVTF_4S(n, d) WORD $(0x4e21d800 | n<<5 | d)
#define SSHL_4S(m, n, d) WORD $(0x4ea04400 | m<<16 | n<<5 | d)
#define SMLAL_4S(m, n, d) WORD $(0x0e608000 | m<<16 | n<<5 | d)
#define SMLAL2_4S(m, n, d) WORD $(0x4e608000 | m<<16 | n<<5 | d)
#define SADALP_2D(n, d) WORD $(0x4ea06800 | n<<5 | d)
#define ADDP_D(n, d) WORD $(0x5ef1b800 | n<<5 | d)

// ADD16 adds sixteen values in V16 and V17, shifted by V31, to four accumulators.
#define ADD16(acc0, acc1, acc2, acc3) \
	SXTL_4S(16, 18) \
	SXTL2_4S(16, 19) \
	SXTL_4S(17, 20) \
	SXTL2_4S(17, 21) \
	SSHL_4S(31, 18, 18) \
	SSHL_4S(31, 19, 19) \
	SSHL_4S(31, 20, 20) \
	SSHL_4S(31, 21, 21) \
	VADD V18.S4, acc0, acc0 \
	VADD V19.S4, acc1, acc1 \
	VADD V20.S4, acc2, acc2 \
	VADD V21.S4, acc3, acc3

// func addWordsNEON(sum *[Dimensions]int32, words **word, n int)
// Four passes over the words, each with 64 dimensions in registers.
TEXT ·addWordsNEON(SB), NOSPLIT, $0-24
	MOVD sum+0(FP), R0
	MOVD words+8(FP), R1
	MOVD n+16(FP), R2
	MOVD $0, R3 // offset of the pass in a word

pass:
	MOVD R0, R4
	VLD1.P 64(R4), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R4), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R4), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1.P 64(R4), [V12.S4, V13.S4, V14.S4, V15.S4]
	MOVD R1, R5
	MOVD R2, R6

next:
	MOVD.P 8(R5), R7
	MOVD 512(R7), R8
	VDUP R8, V31.S4
	ADD R3, R7
	VLD1.P 32(R7), [V16.H8, V17.H8]
	ADD16(V0.S4, V1.S4, V2.S4, V3.S4)
	VLD1.P 32(R7), [V16.H8, V17.H8]
	ADD16(V4.S4, V5.S4, V6.S4, V7.S4)
	VLD1.P 32(R7), [V16.H8, V17.H8]
	ADD16(V8.S4, V9.S4, V10.S4, V11.S4)
	VLD1.P 32(R7), [V16.H8, V17.H8]
	ADD16(V12.S4, V13.S4, V14.S4, V15.S4)
	SUB $1, R6
	CBNZ R6, next
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R0)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R0)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], 64(R0)
	ADD $128, R3
	CMP $512, R3
	BLT pass
	RET

// MULADD32 adds the products of 32 values to V0 to V3.
#define MULADD32 \
	VLD1.P 64(R2), [V16.H8, V17.H8, V18.H8, V19.H8] \
	VLD1.P 64(R5), [V20.H8, V21.H8, V22.H8, V23.H8] \
	SMLAL_4S(16, 20, 0) \
	SMLAL2_4S(16, 20, 1) \
	SMLAL_4S(17, 21, 2) \
	SMLAL2_4S(17, 21, 3) \
	SMLAL_4S(18, 22, 0) \
	SMLAL2_4S(18, 22, 1) \
	SMLAL_4S(19, 23, 2) \
	SMLAL2_4S(19, 23, 3)

// func dotsNEON(dst *int64, n int, rows, x *int16, width int)
// A 32-bit lane adds eight products before it is widened.
TEXT ·dotsNEON(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD n+8(FP), R1
	MOVD rows+16(FP), R2
	MOVD x+24(FP), R3
	MOVD width+32(FP), R4

row:
	VEOR V4.B16, V4.B16, V4.B16
	MOVD R3, R5
	MOVD R4, R6

step:
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	MULADD32
	MULADD32
	MULADD32
	MULADD32
	SADALP_2D(0, 4)
	SADALP_2D(1, 4)
	SADALP_2D(2, 4)
	SADALP_2D(3, 4)
	SUB $128, R6
	CBNZ R6, step
	ADDP_D(4, 4)
	FMOVD.P F4, 8(R0)
	SUB $1, R1
	CBNZ R1, row
	RET

// func widenNEON(dst *float32, src *int8, n int)
// n is a multiple of 32.
TEXT ·widenNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2

loop:
	VLD1.P 16(R1), [V0.B16]
	SXTL_8H(0, 1)
	SXTL2_8H(0, 2)
	SXTL_4S(1, 4)
	SXTL2_4S(1, 5)
	SXTL_4S(2, 6)
	SXTL2_4S(2, 7)
	SCVTF_4S(4, 4)
	SCVTF_4S(5, 5)
	SCVTF_4S(6, 6)
	SCVTF_4S(7, 7)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R0)
	SUB $16, R2
	CBNZ R2, loop
	RET

// ROW adds a value of a, in all lanes, times a row of b in V16 to V19.
#define ROW(value, acc0, acc1, acc2, acc3) \
	VFMLA V16.S4, value, acc0 \
	VFMLA V17.S4, value, acc1 \
	VFMLA V18.S4, value, acc2 \
	VFMLA V19.S4, value, acc3

// STORE writes a row times the scale in V16 to V19 plus the bias in V20 to V23 to dst.
#define STORE(acc0, acc1, acc2, acc3) \
	VMOV V20.B16, V24.B16 \
	VMOV V21.B16, V25.B16 \
	VMOV V22.B16, V26.B16 \
	VMOV V23.B16, V27.B16 \
	VFMLA V16.S4, acc0, V24.S4 \
	VFMLA V17.S4, acc1, V25.S4 \
	VFMLA V18.S4, acc2, V26.S4 \
	VFMLA V19.S4, acc3, V27.S4 \
	VST1 [V24.S4, V25.S4, V26.S4, V27.S4], (R0) \
	ADD R1, R0

// func product4x16(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
//	scale, bias *float32)
// Strides are in bytes.
TEXT ·product4x16(SB), NOSPLIT, $0-72
	MOVD dst+0(FP), R0
	MOVD dstStride+8(FP), R1
	MOVD a+16(FP), R2
	MOVD aStride+24(FP), R3
	MOVD b+32(FP), R4
	MOVD bStride+40(FP), R5
	MOVD depth+48(FP), R6
	MOVD scale+56(FP), R7
	MOVD bias+64(FP), R8
	ADD R3, R2, R9
	ADD R3, R9, R10
	ADD R3, R10, R11
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	VEOR V4.B16, V4.B16, V4.B16
	VEOR V5.B16, V5.B16, V5.B16
	VEOR V6.B16, V6.B16, V6.B16
	VEOR V7.B16, V7.B16, V7.B16
	VEOR V8.B16, V8.B16, V8.B16
	VEOR V9.B16, V9.B16, V9.B16
	VEOR V10.B16, V10.B16, V10.B16
	VEOR V11.B16, V11.B16, V11.B16
	VEOR V12.B16, V12.B16, V12.B16
	VEOR V13.B16, V13.B16, V13.B16
	VEOR V14.B16, V14.B16, V14.B16
	VEOR V15.B16, V15.B16, V15.B16

loop:
	VLD1.P (R4)(R5), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1R.P 4(R2), [V20.S4]
	VLD1R.P 4(R9), [V21.S4]
	VLD1R.P 4(R10), [V22.S4]
	VLD1R.P 4(R11), [V23.S4]
	ROW(V20.S4, V0.S4, V1.S4, V2.S4, V3.S4)
	ROW(V21.S4, V4.S4, V5.S4, V6.S4, V7.S4)
	ROW(V22.S4, V8.S4, V9.S4, V10.S4, V11.S4)
	ROW(V23.S4, V12.S4, V13.S4, V14.S4, V15.S4)
	SUB $1, R6
	CBNZ R6, loop
	VLD1 (R7), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1 (R8), [V20.S4, V21.S4, V22.S4, V23.S4]
	STORE(V0.S4, V1.S4, V2.S4, V3.S4)
	STORE(V4.S4, V5.S4, V6.S4, V7.S4)
	STORE(V8.S4, V9.S4, V10.S4, V11.S4)
	STORE(V12.S4, V13.S4, V14.S4, V15.S4)
	RET
