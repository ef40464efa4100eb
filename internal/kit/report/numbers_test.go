package report

import "testing"

func TestNumbers(t *testing.T) {
	for _, r := range []struct {
		x    float64
		want string
	}{{0, "0.0"}, {0.01234, "0.0123"}, {1.5, "1.500"}, {12.34, "12.34"}, {474.12, "474.1"}, {999.96, "1,000"}, {1035000, "1,035,000"}, {-1234.5, "-1,235"}} {
		if got := Grouped(r.x); got != r.want {
			t.Errorf("grouped(%v) = %q, want %q", r.x, got, r.want)
		}
	}
	for _, r := range []struct {
		x    float64
		want string
	}{{0.29, "0.290"}, {0.00643, "0.00643"}, {0.02, "0.0200"}, {0.0231, "0.0231"}, {0.00001234, "0.0000123"}, {1, "1.000"}, {12.345, "12.3"}, {1234.5, "1,235"}} {
		if got := Ratio(r.x); got != r.want {
			t.Errorf("ratio(%v) = %q, want %q", r.x, got, r.want)
		}
	}
}
