#include "textflag.h"

// One step of a tile's row: a number of A, broadcast, times 16 columns of B.
#define ROW(address, left, right) \
	VBROADCASTSS address, Y14     \
	VFMADD231PS  Y12, Y14, left   \
	VFMADD231PS  Y13, Y14, right

#define LOAD(left, right) \
	VMOVUPS (BX), left     \
	VMOVUPS 32(BX), right  \
	ADDQ    R13, BX

// The larger of each sum and -0, the sum itself if it is +0 or not a number.
#define RECTIFY(left, right) \
	VMAXPS left, Y12, left   \
	VMAXPS right, Y12, right

#define STORE(left, right) \
	VMOVUPS left, (DX)     \
	VMOVUPS right, 32(DX)  \
	ADDQ    R10, DX

#define ARGUMENTS \
	MOVQ k+0(FP), CX       \
	MOVQ a+8(FP), SI       \
	MOVQ aRow+16(FP), R8   \
	MOVQ aStep+24(FP), R9  \
	MOVQ b+32(FP), DI      \
	MOVQ bStep+40(FP), R11 \
	MOVQ c+48(FP), DX      \
	MOVQ cRow+56(FP), R10  \
	MOVQ from+64(FP), BX    \
	MOVQ fromRow+72(FP), R13 \
	MOVBLZX rectify+80(FP), AX

// func tile6(k int, a *float32, aRow, aStep uintptr, b *float32, bStep uintptr, c *float32, cRow uintptr, from *float32, fromRow uintptr, rectify bool)
TEXT ·tile6(SB), NOSPLIT, $0-81
	ARGUMENTS
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
	TESTQ  BX, BX
	JZ     start6
	LOAD(Y0, Y1)
	LOAD(Y2, Y3)
	LOAD(Y4, Y5)
	LOAD(Y6, Y7)
	LOAD(Y8, Y9)
	LOAD(Y10, Y11)

start6:
	LEAQ  (SI)(R8*2), R12
	ADDQ  R8, R12
	TESTQ CX, CX
	JZ    done6

loop6:
	VMOVUPS (DI), Y12
	VMOVUPS 32(DI), Y13
	ROW((SI), Y0, Y1)
	ROW((SI)(R8*1), Y2, Y3)
	ROW((SI)(R8*2), Y4, Y5)
	ROW((R12), Y6, Y7)
	ROW((R12)(R8*1), Y8, Y9)
	ROW((R12)(R8*2), Y10, Y11)
	ADDQ R9, SI
	ADDQ R9, R12
	ADDQ R11, DI
	DECQ CX
	JNZ  loop6

done6:
	TESTQ    AX, AX
	JZ       store6
	VPCMPEQD Y12, Y12, Y12
	VPSLLD   $31, Y12, Y12
	RECTIFY(Y0, Y1)
	RECTIFY(Y2, Y3)
	RECTIFY(Y4, Y5)
	RECTIFY(Y6, Y7)
	RECTIFY(Y8, Y9)
	RECTIFY(Y10, Y11)

store6:
	STORE(Y0, Y1)
	STORE(Y2, Y3)
	STORE(Y4, Y5)
	STORE(Y6, Y7)
	STORE(Y8, Y9)
	STORE(Y10, Y11)
	VZEROUPPER
	RET

// func tile1(k int, a *float32, aRow, aStep uintptr, b *float32, bStep uintptr, c *float32, cRow uintptr, from *float32, fromRow uintptr, rectify bool)
TEXT ·tile1(SB), NOSPLIT, $0-81
	ARGUMENTS
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	TESTQ  BX, BX
	JZ     start1
	VMOVUPS (BX), Y0
	VMOVUPS 32(BX), Y1

start1:
	TESTQ CX, CX
	JZ    done1

loop1:
	VMOVUPS (DI), Y12
	VMOVUPS 32(DI), Y13
	ROW((SI), Y0, Y1)
	ADDQ R9, SI
	ADDQ R11, DI
	DECQ CX
	JNZ  loop1

done1:
	TESTQ    AX, AX
	JZ       store1
	VPCMPEQD Y12, Y12, Y12
	VPSLLD   $31, Y12, Y12
	RECTIFY(Y0, Y1)

store1:
	VMOVUPS Y0, (DX)
	VMOVUPS Y1, 32(DX)
	VZEROUPPER
	RET

// func gate8(n int, by, y *float32)
TEXT ·gate8(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), CX
	MOVQ by+8(FP), DI
	MOVQ y+16(FP), SI

loopGate:
	VMOVUPS (SI), Y0
	VPSRAD  $31, Y0, Y0
	VPANDN  (DI), Y0, Y1
	VMOVUPS Y1, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     loopGate
	VZEROUPPER
	RET

// func add8(n int, x, y *float32)
TEXT ·add8(SB), NOSPLIT, $0-24
	MOVQ n+0(FP), CX
	MOVQ x+8(FP), DI
	MOVQ y+16(FP), SI

loopAdd:
	VMOVUPS (DI), Y0
	VADDPS  (SI), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNZ     loopAdd
	VZEROUPPER
	RET

#define SPREAD(from, to) \
	VBROADCASTSS from, to

// func adam8(n int, params, gradient, first, second *float32, f *factors)
TEXT ·adam8(SB), NOSPLIT, $0-48
	MOVQ n+0(FP), CX
	MOVQ params+8(FP), DI
	MOVQ gradient+16(FP), SI
	MOVQ first+24(FP), R8
	MOVQ second+32(FP), R9
	MOVQ f+40(FP), BX
	SPREAD(0(BX), Y8)   // scale
	SPREAD(4(BX), Y9)   // beta1
	SPREAD(8(BX), Y10)  // 1-beta1
	SPREAD(12(BX), Y11) // beta2
	SPREAD(16(BX), Y12) // 1-beta2
	SPREAD(20(BX), Y13) // rate
	SPREAD(24(BX), Y14) // correct
	SPREAD(28(BX), Y15) // epsilon

loopAdam:
	VMULPS  (SI), Y8, Y0
	VMULPS  (R8), Y9, Y1
	VMULPS  Y0, Y10, Y2
	VADDPS  Y2, Y1, Y1
	VMOVUPS Y1, (R8)
	VMULPS  Y0, Y12, Y2
	VMULPS  Y0, Y2, Y2
	VMULPS  (R9), Y11, Y3
	VADDPS  Y3, Y2, Y2
	VMOVUPS Y2, (R9)
	VMULPS  Y2, Y14, Y2
	VSQRTPS Y2, Y2
	VADDPS  Y15, Y2, Y2
	VMULPS  Y13, Y1, Y1
	VDIVPS  Y2, Y1, Y1
	VMOVUPS (DI), Y0
	VSUBPS  Y1, Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	ADDQ    $32, R8
	ADDQ    $32, R9
	SUBQ    $8, CX
	JNZ     loopAdam
	VZEROUPPER
	RET
