//go:build !amd64 && !arm64

package builtin

var kernels = []*kernel{&plainKernel}

var bestKernel = kernels[0]
