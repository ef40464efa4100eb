package lab

import "testing"

// Two contenders are compared where the processor was equally fast for both.
func TestAlikeSlowed(t *testing.T) {
	parts := func(of ...plainPart) (all []plainPart) {
		for _, p := range of {
			for i := range 10 { // witnesses differ a little
				all = append(all, plainPart{p.witness + float64(i%2), p.ns})
			}
		}
		return all
	}
	// At full speed one takes 10 and two 20; slowed, code that waits for memory takes as long.
	one := parts(plainPart{100, 9}, plainPart{100, 11}, plainPart{120, 12}, plainPart{170, 17})
	two := parts(plainPart{170, 20}, plainPart{170, 20}, plainPart{100, 21}, plainPart{100, 19})
	if a, b := alikeSlowed(one, two); a != 10 || b != 20 {
		t.Errorf("%v and %v, want 10 and 20 at full speed", a, b)
	}
	slow := parts(plainPart{170, 20}, plainPart{172, 20})
	if a, b := alikeSlowed(one, slow); a != 12.25 || b != 20 {
		t.Errorf("%v and %v, want 12.25 and 20 where one had no full speed", a, b)
	}
}
