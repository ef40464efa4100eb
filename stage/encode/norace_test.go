//go:build !race

package encode

const racing = false
