package seal

import (
	"postage/lab"
	"postage/record"
)

// figures describe the stage's figures.
func figures() lab.Figures { return lab.Figures{Spoken: spoken} }

// spoken is a case as a person says it: a push is a message of Web Push.
func spoken(caseName string) string {
	return map[string]string{
		"pad=none": "a push, sealed", "pad=4096": "a padded push, sealed", "slice=page": "the page's push, sealed",
	}[record.KeysOf(caseName).Join("/")]
}
