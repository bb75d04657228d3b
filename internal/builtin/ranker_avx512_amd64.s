#include "textflag.h"

// Registers of the products: SI, R10, R11 and R12 are rows 0, 3, 6 and 9 of a, with stride R8; BX is b, with stride R9;
// DI is dst, with stride R13; CX is the depth; DX and AX are scale and bias.
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
	LEAQ (R8)(R8*2), R12 \
	LEAQ (SI)(R12*1), R10 \
	LEAQ (SI)(R12*2), R11 \
	LEAQ (R10)(R12*2), R12

// ROW adds a value of a times a row of b, which is in Z24 and Z25.
#define ROW(value, tmp, acc0, acc1) \
	VBROADCASTSS value, tmp \
	VFMADD231PS Z24, tmp, acc0 \
	VFMADD231PS Z25, tmp, acc1

// STORE scales a row by Z24 and Z25, adds the bias in Z26 and Z27, and moves to the next row of dst.
#define STORE(acc0, acc1) \
	VFMADD213PS Z26, Z24, acc0 \
	VFMADD213PS Z27, Z25, acc1 \
	VMOVUPS acc0, (DI) \
	VMOVUPS acc1, 64(DI) \
	ADDQ R13, DI

// func product12x32(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
//	scale, bias *float32)
// Strides are in bytes.
TEXT ·product12x32(SB), NOSPLIT, $0-72
	LOAD_PRODUCT
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	VPXORQ Z12, Z12, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15
	VPXORQ Z16, Z16, Z16
	VPXORQ Z17, Z17, Z17
	VPXORQ Z18, Z18, Z18
	VPXORQ Z19, Z19, Z19
	VPXORQ Z20, Z20, Z20
	VPXORQ Z21, Z21, Z21
	VPXORQ Z22, Z22, Z22
	VPXORQ Z23, Z23, Z23

loop:
	VMOVUPS (BX), Z24
	VMOVUPS 64(BX), Z25
	ROW((SI), Z26, Z0, Z1)
	ROW((SI)(R8*1), Z27, Z2, Z3)
	ROW((SI)(R8*2), Z26, Z4, Z5)
	ROW((R10), Z27, Z6, Z7)
	ROW((R10)(R8*1), Z26, Z8, Z9)
	ROW((R10)(R8*2), Z27, Z10, Z11)
	ROW((R11), Z26, Z12, Z13)
	ROW((R11)(R8*1), Z27, Z14, Z15)
	ROW((R11)(R8*2), Z26, Z16, Z17)
	ROW((R12), Z27, Z18, Z19)
	ROW((R12)(R8*1), Z26, Z20, Z21)
	ROW((R12)(R8*2), Z27, Z22, Z23)
	ADDQ $4, SI
	ADDQ $4, R10
	ADDQ $4, R11
	ADDQ $4, R12
	ADDQ R9, BX
	DECQ CX
	JNZ loop
	VMOVUPS (DX), Z24
	VMOVUPS 64(DX), Z25
	VMOVUPS (AX), Z26
	VMOVUPS 64(AX), Z27
	STORE(Z0, Z1)
	STORE(Z2, Z3)
	STORE(Z4, Z5)
	STORE(Z6, Z7)
	STORE(Z8, Z9)
	STORE(Z10, Z11)
	STORE(Z12, Z13)
	STORE(Z14, Z15)
	STORE(Z16, Z17)
	STORE(Z18, Z19)
	STORE(Z20, Z21)
	STORE(Z22, Z23)
	VZEROUPPER
	RET

// func product8x32(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
//	scale, bias *float32)
TEXT ·product8x32(SB), NOSPLIT, $0-72
	LOAD_PRODUCT
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	VPXORQ Z12, Z12, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15

loop:
	VMOVUPS (BX), Z24
	VMOVUPS 64(BX), Z25
	ROW((SI), Z26, Z0, Z1)
	ROW((SI)(R8*1), Z27, Z2, Z3)
	ROW((SI)(R8*2), Z26, Z4, Z5)
	ROW((R10), Z27, Z6, Z7)
	ROW((R10)(R8*1), Z26, Z8, Z9)
	ROW((R10)(R8*2), Z27, Z10, Z11)
	ROW((R11), Z26, Z12, Z13)
	ROW((R11)(R8*1), Z27, Z14, Z15)
	ADDQ $4, SI
	ADDQ $4, R10
	ADDQ $4, R11
	ADDQ R9, BX
	DECQ CX
	JNZ loop
	VMOVUPS (DX), Z24
	VMOVUPS 64(DX), Z25
	VMOVUPS (AX), Z26
	VMOVUPS 64(AX), Z27
	STORE(Z0, Z1)
	STORE(Z2, Z3)
	STORE(Z4, Z5)
	STORE(Z6, Z7)
	STORE(Z8, Z9)
	STORE(Z10, Z11)
	STORE(Z12, Z13)
	STORE(Z14, Z15)
	VZEROUPPER
	RET

// func product4x32(dst *float32, dstStride int, a *float32, aStride int, b *float32, bStride, depth int,
//	scale, bias *float32)
TEXT ·product4x32(SB), NOSPLIT, $0-72
	LOAD_PRODUCT
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7

loop:
	VMOVUPS (BX), Z24
	VMOVUPS 64(BX), Z25
	ROW((SI), Z26, Z0, Z1)
	ROW((SI)(R8*1), Z27, Z2, Z3)
	ROW((SI)(R8*2), Z26, Z4, Z5)
	ROW((R10), Z27, Z6, Z7)
	ADDQ $4, SI
	ADDQ $4, R10
	ADDQ R9, BX
	DECQ CX
	JNZ loop
	VMOVUPS (DX), Z24
	VMOVUPS 64(DX), Z25
	VMOVUPS (AX), Z26
	VMOVUPS 64(AX), Z27
	STORE(Z0, Z1)
	STORE(Z2, Z3)
	STORE(Z4, Z5)
	STORE(Z6, Z7)
	VZEROUPPER
	RET
