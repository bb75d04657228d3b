#include "textflag.h"

// Registers of the products: SI and R10 are rows 0 and 3 of a, with stride R8; BX is b, with stride R9;
// DI and R11 are rows 0 and 3 of dst, with stride R13; CX is the depth; DX and AX are scale and bias.
#define LOAD_PRODUCT \
	MOVQ dst+0(FP), DI \
	MOVQ dstStride+8(FP), R13 \
	MOVQ a+16(FP), SI \
	MOVQ aStride+24(FP), R8 \
	MOVQ b+32(FP), BX \
	MOVQ bStride+40(FP), R9 \
	MOVQ depth+48(FP), CX \
	MOVQ scale+56(FP), DX \
	MOVQ bias+64(FP), AX \
	LEAQ (R8)(R8*2), R10 \
	ADDQ SI, R10 \
	LEAQ (R13)(R13*2), R11 \
	ADDQ DI, R11

// ROW adds a value of a times a row of b, which is in Y12 and Y13.
#define ROW(value, tmp, acc0, acc1) \
	VBROADCASTSS value, tmp \
	VFMADD231PS Y12, tmp, acc0 \
	VFMADD231PS Y13, tmp, acc1

// STORE scales a row by Y12 and Y13, and adds the bias at AX.
#define STORE(acc0, acc1, row) \
	VFMADD213PS (AX), Y12, acc0 \
	VFMADD213PS 32(AX), Y13, acc1 \
	VMOVUPS acc0, row \
	VMOVUPS acc1, 32 row

// func widenAVX2(dst *float32, src *int8, n int)
// n is a multiple of 32.
TEXT ·widenAVX2(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX

loop:
	VPMOVSXBD (SI), Y0
	VPMOVSXBD 8(SI), Y1
	VPMOVSXBD 16(SI), Y2
	VPMOVSXBD 24(SI), Y3
	VCVTDQ2PS Y0, Y0
	VCVTDQ2PS Y1, Y1
	VCVTDQ2PS Y2, Y2
	VCVTDQ2PS Y3, Y3
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	ADDQ $32, SI
	ADDQ $128, DI
	SUBQ $32, CX
	JNZ loop
	VZEROUPPER
	RET

// func product6x16(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
//	scale, bias *float32)
// Strides are in bytes.
TEXT ·product6x16(SB), NOSPLIT, $0-72
	LOAD_PRODUCT
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11

loop:
	VMOVUPS (BX), Y12
	VMOVUPS 32(BX), Y13
	ROW((SI), Y14, Y0, Y1)
	ROW((SI)(R8*1), Y15, Y2, Y3)
	ROW((SI)(R8*2), Y14, Y4, Y5)
	ROW((R10), Y15, Y6, Y7)
	ROW((R10)(R8*1), Y14, Y8, Y9)
	ROW((R10)(R8*2), Y15, Y10, Y11)
	ADDQ $4, SI
	ADDQ $4, R10
	ADDQ R9, BX
	DECQ CX
	JNZ loop
	VMOVUPS (DX), Y12
	VMOVUPS 32(DX), Y13
	STORE(Y0, Y1, (DI))
	STORE(Y2, Y3, (DI)(R13*1))
	STORE(Y4, Y5, (DI)(R13*2))
	STORE(Y6, Y7, (R11))
	STORE(Y8, Y9, (R11)(R13*1))
	STORE(Y10, Y11, (R11)(R13*2))
	VZEROUPPER
	RET

// func product4x16(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
//	scale, bias *float32)
TEXT ·product4x16(SB), NOSPLIT, $0-72
	LOAD_PRODUCT
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

loop:
	VMOVUPS (BX), Y12
	VMOVUPS 32(BX), Y13
	ROW((SI), Y14, Y0, Y1)
	ROW((SI)(R8*1), Y15, Y2, Y3)
	ROW((SI)(R8*2), Y14, Y4, Y5)
	ROW((R10), Y15, Y6, Y7)
	ADDQ $4, SI
	ADDQ $4, R10
	ADDQ R9, BX
	DECQ CX
	JNZ loop
	VMOVUPS (DX), Y12
	VMOVUPS 32(DX), Y13
	STORE(Y0, Y1, (DI))
	STORE(Y2, Y3, (DI)(R13*1))
	STORE(Y4, Y5, (DI)(R13*2))
	STORE(Y6, Y7, (R11))
	VZEROUPPER
	RET

// SUM adds the lanes of acc (low: its lower half) into the lowest lane of low.
#define SUM(acc, low, tmp) \
	VEXTRACTF128 $1, acc, tmp \
	VADDPS tmp, low, low \
	VHADDPS low, low, low \
	VHADDPS low, low, low

// func addNormaliseAVX2(x, add, gain, bias *float32)
// The length is 384: 12 steps of 32 values.
TEXT ·addNormaliseAVX2(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), DI
	MOVQ add+8(FP), SI
	MOVQ gain+16(FP), R8
	MOVQ bias+24(FP), R9
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	XORQ AX, AX

sum:
	VMOVUPS (DI)(AX*4), Y4
	VMOVUPS 32(DI)(AX*4), Y5
	VMOVUPS 64(DI)(AX*4), Y6
	VMOVUPS 96(DI)(AX*4), Y7
	VADDPS (SI)(AX*4), Y4, Y4
	VADDPS 32(SI)(AX*4), Y5, Y5
	VADDPS 64(SI)(AX*4), Y6, Y6
	VADDPS 96(SI)(AX*4), Y7, Y7
	VMOVUPS Y4, (DI)(AX*4)
	VMOVUPS Y5, 32(DI)(AX*4)
	VMOVUPS Y6, 64(DI)(AX*4)
	VMOVUPS Y7, 96(DI)(AX*4)
	VADDPS Y4, Y0, Y0
	VADDPS Y5, Y1, Y1
	VADDPS Y6, Y2, Y2
	VADDPS Y7, Y3, Y3
	ADDQ $32, AX
	CMPQ AX, $384
	JLT sum
	VADDPS Y1, Y0, Y0
	VADDPS Y3, Y2, Y2
	VADDPS Y2, Y0, Y0
	SUM(Y0, X0, X1)
	VMULSS normConstants<>+0(SB), X0, X0
	VBROADCASTSS X0, Y8 // mean

	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	XORQ AX, AX

squares:
	VMOVUPS (DI)(AX*4), Y4
	VMOVUPS 32(DI)(AX*4), Y5
	VSUBPS Y8, Y4, Y4
	VSUBPS Y8, Y5, Y5
	VFMADD231PS Y4, Y4, Y0
	VFMADD231PS Y5, Y5, Y1
	ADDQ $16, AX
	CMPQ AX, $384
	JLT squares
	VADDPS Y1, Y0, Y0
	SUM(Y0, X0, X1)
	VMULSS normConstants<>+0(SB), X0, X0
	VADDSS normConstants<>+4(SB), X0, X0
	VSQRTSS X0, X0, X0
	VMOVSS normConstants<>+8(SB), X1
	VDIVSS X0, X1, X1
	VBROADCASTSS X1, Y9 // 1 / deviation
	XORQ AX, AX

scale:
	VMOVUPS (DI)(AX*4), Y4
	VMOVUPS 32(DI)(AX*4), Y5
	VSUBPS Y8, Y4, Y4
	VSUBPS Y8, Y5, Y5
	VMULPS Y9, Y4, Y4
	VMULPS Y9, Y5, Y5
	VMOVUPS (R8)(AX*4), Y6
	VMOVUPS 32(R8)(AX*4), Y7
	VFMADD213PS (R9)(AX*4), Y6, Y4
	VFMADD213PS 32(R9)(AX*4), Y7, Y5
	VMOVUPS Y4, (DI)(AX*4)
	VMOVUPS Y5, 32(DI)(AX*4)
	ADDQ $16, AX
	CMPQ AX, $384
	JLT scale
	VZEROUPPER
	RET

DATA normConstants<>+0(SB)/4, $0x3b2aaaab // 1/384
DATA normConstants<>+4(SB)/4, $0x2b8cbccc // 1e-12
DATA normConstants<>+8(SB)/4, $0x3f800000 // 1
GLOBL normConstants<>(SB), RODATA|NOPTR, $12

// func geluAVX2(x *float32, n int)
// erf(y) is y·P(y²)/Q(y²) between -4 and 4, and ±1 outside. n is a multiple of 8.
TEXT ·geluAVX2(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	VBROADCASTSS geluConstants<>+0(SB), Y15  // 1/√2
	VBROADCASTSS geluConstants<>+4(SB), Y14  // 4
	VBROADCASTSS geluConstants<>+8(SB), Y13  // -4
	VBROADCASTSS geluConstants<>+12(SB), Y12 // 1/2
	VBROADCASTSS geluConstants<>+16(SB), Y11 // P[6]
	VBROADCASTSS geluConstants<>+20(SB), Y10
	VBROADCASTSS geluConstants<>+44(SB), Y9  // Q[4]
	VBROADCASTSS geluConstants<>+48(SB), Y8

loop:
	VMOVUPS (DI), Y0
	VMULPS Y15, Y0, Y1
	VMINPS Y14, Y1, Y1
	VMAXPS Y13, Y1, Y1 // y
	VMULPS Y1, Y1, Y2  // y²
	VMOVAPS Y11, Y3
	VFMADD213PS Y10, Y2, Y3
	VBROADCASTSS geluConstants<>+24(SB), Y5
	VFMADD213PS Y5, Y2, Y3
	VBROADCASTSS geluConstants<>+28(SB), Y6
	VFMADD213PS Y6, Y2, Y3
	VBROADCASTSS geluConstants<>+32(SB), Y5
	VFMADD213PS Y5, Y2, Y3
	VBROADCASTSS geluConstants<>+36(SB), Y6
	VFMADD213PS Y6, Y2, Y3
	VBROADCASTSS geluConstants<>+40(SB), Y5
	VFMADD213PS Y5, Y2, Y3
	VMOVAPS Y9, Y4
	VFMADD213PS Y8, Y2, Y4
	VBROADCASTSS geluConstants<>+52(SB), Y6
	VFMADD213PS Y6, Y2, Y4
	VBROADCASTSS geluConstants<>+56(SB), Y5
	VFMADD213PS Y5, Y2, Y4
	VBROADCASTSS geluConstants<>+60(SB), Y6
	VFMADD213PS Y6, Y2, Y4
	VMULPS Y1, Y3, Y3
	VDIVPS Y4, Y3, Y3 // erf
	VMULPS Y12, Y0, Y0
	VFMADD213PS Y0, Y0, Y3 // x/2 + x/2·erf
	VMOVUPS Y3, (DI)
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ loop
	VZEROUPPER
	RET

// func softmaxAVX2(x *float32, n int)
// n is a multiple of 8.
TEXT ·softmaxAVX2(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), DI
	MOVQ n+8(FP), CX
	LEAQ (DI)(CX*4), R8 // end
	MOVQ DI, SI
	VMOVUPS (SI), Y0

largest:
	VMAXPS (SI), Y0, Y0
	ADDQ $32, SI
	CMPQ SI, R8
	JLT largest
	VEXTRACTF128 $1, Y0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0x4e, X0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0xb1, X0, X1
	VMAXPS X1, X0, X0
	VBROADCASTSS X0, Y15
	VBROADCASTSS expConstants<>+0(SB), Y14  // log2(e)
	VBROADCASTSS expConstants<>+4(SB), Y13  // high part of -ln(2)
	VBROADCASTSS expConstants<>+8(SB), Y12  // low part
	VBROADCASTSS expConstants<>+12(SB), Y11 // the coefficients
	VBROADCASTSS expConstants<>+16(SB), Y10
	VBROADCASTSS expConstants<>+20(SB), Y9
	VBROADCASTSS expConstants<>+24(SB), Y8
	VBROADCASTSS expConstants<>+28(SB), Y7
	VBROADCASTSS expConstants<>+32(SB), Y6
	VBROADCASTSS expConstants<>+36(SB), Y5 // 1
	VXORPS Y4, Y4, Y4                      // sum
	MOVQ DI, SI

exp:
	VMOVUPS (SI), Y0
	VSUBPS Y15, Y0, Y0
	VBROADCASTSS expConstants<>+40(SB), Y3 // the least argument
	VMAXPS Y3, Y0, Y0
	VMULPS Y14, Y0, Y1
	VROUNDPS $0, Y1, Y1 // exponent
	VFMADD231PS Y13, Y1, Y0
	VFMADD231PS Y12, Y1, Y0
	VMULPS Y0, Y0, Y3
	VMOVAPS Y11, Y2
	VFMADD213PS Y10, Y0, Y2
	VFMADD213PS Y9, Y0, Y2
	VFMADD213PS Y8, Y0, Y2
	VFMADD213PS Y7, Y0, Y2
	VFMADD213PS Y6, Y0, Y2
	VADDPS Y5, Y0, Y0
	VFMADD213PS Y0, Y3, Y2
	VCVTPS2DQ Y1, Y1
	VPSLLD $23, Y1, Y1
	VPADDD Y1, Y2, Y2
	VMOVUPS Y2, (SI)
	VADDPS Y2, Y4, Y4
	ADDQ $32, SI
	CMPQ SI, R8
	JLT exp
	SUM(Y4, X4, X1)
	VDIVSS X4, X5, X5
	VBROADCASTSS X5, Y5

scale:
	VMULPS (DI), Y5, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, DI
	CMPQ DI, R8
	JLT scale
	VZEROUPPER
	RET

DATA geluConstants<>+0(SB)/4, $0x3f3504f3 // 1/√2
DATA geluConstants<>+4(SB)/4, $0x40800000 // 4
DATA geluConstants<>+8(SB)/4, $0xc0800000 // -4
DATA geluConstants<>+12(SB)/4, $0x3f000000 // 1/2
DATA geluConstants<>+16(SB)/4, $0xaf95df0b // P[6] = -2.72614225801306e-10
DATA geluConstants<>+20(SB)/4, $0x32edffee // P[5] = 2.77068142495902e-08
DATA geluConstants<>+24(SB)/4, $0xb60cff51 // P[4] = -2.10102402082508e-06
DATA geluConstants<>+28(SB)/4, $0xb86ec2d2 // P[3] = -5.69250639462346e-05
DATA geluConstants<>+32(SB)/4, $0xba40ac63 // P[2] = -7.34990630326855e-04
DATA geluConstants<>+36(SB)/4, $0xbb41a1f6 // P[1] = -2.95459980854025e-03
DATA geluConstants<>+40(SB)/4, $0xbc83dbd4 // P[0] = -1.60960333262415e-02
DATA geluConstants<>+44(SB)/4, $0xb77460cd // Q[4] = -1.45660718464996e-05
DATA geluConstants<>+48(SB)/4, $0xb95fbd29 // Q[3] = -2.13374055278905e-04
DATA geluConstants<>+52(SB)/4, $0xbadc924e // Q[2] = -1.68282697438203e-03
DATA geluConstants<>+56(SB)/4, $0xbbf19bf8 // Q[1] = -7.37332916720468e-03
DATA geluConstants<>+60(SB)/4, $0xbc69b6a7 // Q[0] = -1.42647390514189e-02
GLOBL geluConstants<>(SB), RODATA|NOPTR, $64

DATA expConstants<>+0(SB)/4, $0x3fb8aa3b // log2(e)
DATA expConstants<>+4(SB)/4, $0xbf318000 // -0.693359375
DATA expConstants<>+8(SB)/4, $0x395e8083 // 2.12194440e-4
DATA expConstants<>+12(SB)/4, $0x39506967 // 1.9875691500e-04
DATA expConstants<>+16(SB)/4, $0x3ab743ce // 1.3981999507e-03
DATA expConstants<>+20(SB)/4, $0x3c088908 // 8.3334519073e-03
DATA expConstants<>+24(SB)/4, $0x3d2aa9c1 // 4.1665795894e-02
DATA expConstants<>+28(SB)/4, $0x3e2aaaaa // 1.6666665459e-01
DATA expConstants<>+32(SB)/4, $0x3f000000 // 5.0000001201e-01
DATA expConstants<>+36(SB)/4, $0x3f800000 // 1
DATA expConstants<>+40(SB)/4, $0xc2ae0000 // -87
GLOBL expConstants<>(SB), RODATA|NOPTR, $44
