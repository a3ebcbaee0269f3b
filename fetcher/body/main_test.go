package body

import (
	"testing"

	"go.uber.org/goleak"
)

// Decoders that the pool drops must leave no goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
