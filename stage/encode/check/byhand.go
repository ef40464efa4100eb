package check

import (
	"strings"
	"unicode/utf8"

	"postage/stage/encode/internal/pbcheck"
)

// byHand is what one would write without a library: the least work, and each rule a second time.
func byHand[V any](check func(*V) error) library[V] {
	return library[V]{name: "lib=handwritten", accepts: []string{noDot}, open: func() (checker[V], error) {
		return checker[V]{check: check, field: func(err error) string { return string(errorAs[wrong](err)) }}, nil
	}}
}

// wrong is the path of a field that breaks a rule.
type wrong string

func (w wrong) Error() string { return "wrong " + string(w) }

func checkTiny(m *pbcheck.Tiny) error {
	switch {
	case m.Serial == 0:
		return wrong("serial")
	case !(m.Value >= -1e6 && m.Value <= 1e6):
		return wrong("value")
	}
	return nil
}

func checkOrder(m *pbcheck.Order) error {
	switch {
	case m.Serial == 0:
		return wrong("serial")
	case !isReference(m.Reference):
		return wrong("reference")
	case m.Status < 1 || m.Status > 4:
		return wrong("status")
	case m.CreatedUnixMs <= 0:
		return wrong("created_unix_ms")
	case m.PaidUnixMs != nil && *m.PaidUnixMs <= 0:
		return wrong("paid_unix_ms")
	case len(m.Items) < 1 || len(m.Items) > 100:
		return wrong("items")
	case m.Coupon != nil && !long(*m.Coupon, 4, 16):
		return wrong("coupon")
	case len(m.Labels) > 16:
		return wrong("labels")
	case !long(m.Note, 0, 1000):
		return wrong("note")
	case len(m.Tags) > 10:
		return wrong("tags")
	case len(m.Signature) != 64:
		return wrong("signature")
	}
	for key, value := range m.Labels {
		if !long(key, 1, 63) || !long(value, 0, 63) {
			return wrong("labels")
		}
	}
	for _, tag := range m.Tags {
		if !long(tag, 1, 32) {
			return wrong("tags")
		}
	}
	for _, item := range m.Items {
		if err := checkItem(item); err != "" {
			return "items." + err
		}
	}
	if err := checkCustomer(m.Customer); err != "" {
		return err
	}
	if err := checkMoney("total", m.Total); err != "" {
		return err
	}
	if m.ShipTo == nil {
		return wrong("ship_to")
	}
	if err := checkAddress(m.ShipTo); err != "" {
		return "ship_to." + err
	}
	if m.BillTo != nil {
		if err := checkAddress(m.BillTo); err != "" {
			return "bill_to." + err
		}
	}
	return nil
}

func checkItem(m *pbcheck.LineItem) wrong {
	switch {
	case !long(m.Sku, 10, 10):
		return "sku"
	case !long(m.Title, 1, 200):
		return "title"
	case m.Quantity < 1 || m.Quantity > 1000:
		return "quantity"
	case !(m.TaxRate >= 0 && m.TaxRate < 1):
		return "tax_rate"
	case m.DiscountPercent != nil && (*m.DiscountPercent < 1 || *m.DiscountPercent > 90):
		return "discount_percent"
	}
	return checkMoney("unit_price", m.UnitPrice)
}

func checkMoney(name wrong, m *pbcheck.Money) wrong {
	if m == nil {
		return name
	}
	switch m.Currency {
	case "EUR", "USD", "JPY", "CHF":
	default:
		return name + ".currency"
	}
	if m.MinorUnits < 0 {
		return name + ".minor_units"
	}
	return ""
}

func checkCustomer(m *pbcheck.Customer) wrong {
	switch {
	case m == nil:
		return "customer"
	case m.Serial == 0:
		return "customer.serial"
	case !long(m.Name, 1, 100):
		return "customer.name"
	case !isEmail(m.Email):
		return "customer.email"
	case m.Phone != nil && !(strings.HasPrefix(*m.Phone, "+") && long(*m.Phone, 8, 20)):
		return "customer.phone"
	}
	return ""
}

func checkAddress(m *pbcheck.Address) wrong {
	switch {
	case !long(m.Street, 1, 100):
		return "street"
	case !long(m.City, 1, 100):
		return "city"
	case !long(m.PostalCode, 3, 10):
		return "postal_code"
	case !long(m.Country, 2, 2):
		return "country"
	}
	return ""
}

// long reports whether a text has so many characters, which are at most as many as its bytes.
func long(text string, least, most int) bool {
	if len(text) <= most && len(text) >= least*utf8.UTFMax {
		return true
	}
	n := utf8.RuneCountInString(text)
	return least <= n && n <= most
}

func isReference(text string) bool {
	digits, found := strings.CutPrefix(text, "ORD-")
	if !found || len(digits) != 8 {
		return false
	}
	for _, c := range []byte(digits) {
		if (c < '0' || c > '9') && (c < 'A' || c > 'F') {
			return false
		}
	}
	return true
}

// isEmail is what HTML's input of type email accepts.
func isEmail(text string) bool {
	local, domain, found := strings.Cut(text, "@")
	if !found || local == "" {
		return false
	}
	for _, c := range []byte(local) {
		if !isAlphanumeric(c) && !strings.ContainsRune(".!#$%&'*+/=?^_`{|}~-", rune(c)) {
			return false
		}
	}
	for label := range strings.SplitSeq(domain, ".") {
		if len(label) < 1 || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if !isAlphanumeric(c) && c != '-' {
				return false
			}
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
