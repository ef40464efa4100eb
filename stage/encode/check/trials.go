package check

import (
	"math"
	"strings"

	"google.golang.org/protobuf/proto"

	"postage/stage/encode/internal/pbcheck"
)

type (
	order = pbcheck.Order
	tiny  = pbcheck.Tiny
)

// The values on which libraries disagree.
const (
	afterName = "an e-mail address after a name"
	noDot     = "an e-mail address without a dot"
	nan       = "NaN in a range"
)

// orderTrials change one field of a valid order each. Every field that has a rule is in the list,
// and a test holds that.
var orderTrials = []trial[order]{
	// Just inside the bounds. Lengths are of characters, not bytes.
	{change: func(m *order) {
		m.PaidUnixMs, m.Coupon, m.Customer.Phone, m.BillTo, m.Tags, m.Labels = nil, nil, nil, nil, nil, nil
	}},
	{change: func(m *order) { m.Note, m.Serial, m.CreatedUnixMs = strings.Repeat("é", 1000), 1, 1 }},
	{change: func(m *order) { m.Customer.Name, m.ShipTo.City = strings.Repeat("日", 100), "大" }},
	{change: func(m *order) { m.Coupon, m.Customer.Phone = proto.String("SAVE"), proto.String("+1234567") }},
	{change: func(m *order) {
		m.Items[7].Quantity, m.Items[7].UnitPrice.MinorUnits, m.Items[7].TaxRate = 1000, 0, 0.999
	}},
	{change: func(m *order) { m.Items[0].DiscountPercent, m.ShipTo.Country = proto.Int32(90), "日本" }},
	{change: func(m *order) {
		m.Labels[strings.Repeat("é", 63)], m.Tags = "", append(m.Tags, strings.Repeat("é", 32))
	}},

	{field: "serial", change: func(m *order) { m.Serial = 0 }},
	{field: "reference", change: func(m *order) { m.Reference = "" }},
	{field: "reference", change: func(m *order) { m.Reference = "ORD-0123456g" }},
	{field: "reference", change: func(m *order) { m.Reference = "ORD-012345678" }},
	{field: "status", change: func(m *order) { m.Status = 0 }},
	{field: "status", change: func(m *order) { m.Status = 5 }},
	{field: "status", change: func(m *order) { m.Status = -1 }},
	{field: "created_unix_ms", change: func(m *order) { m.CreatedUnixMs = 0 }},
	{field: "paid_unix_ms", change: func(m *order) { m.PaidUnixMs = proto.Int64(0) }},
	{field: "paid_unix_ms", change: func(m *order) { m.PaidUnixMs = proto.Int64(-1) }},
	{field: "coupon", change: func(m *order) { m.Coupon = proto.String("SAV") }},
	{field: "coupon", change: func(m *order) { m.Coupon = proto.String("SAVE" + strings.Repeat("9", 13)) }},
	{field: "note", change: func(m *order) { m.Note = strings.Repeat("é", 1001) }},
	{field: "signature", change: func(m *order) { m.Signature = m.Signature[:63] }},
	{field: "signature", change: func(m *order) { m.Signature = nil }},
	{field: "tags", change: func(m *order) { m.Tags = strings.Split("a b c d e f g h i j k", " ") }},
	{field: "tags", change: func(m *order) { m.Tags[2] = "" }},
	{field: "tags", change: func(m *order) { m.Tags[1] = strings.Repeat("é", 33) }},
	{field: "labels", change: func(m *order) { m.Labels[""] = "empty key" }},
	{field: "labels", change: func(m *order) { m.Labels[strings.Repeat("k", 64)] = "long key" }},
	{field: "labels", change: func(m *order) { m.Labels["long"] = strings.Repeat("v", 64) }},
	{field: "labels", change: func(m *order) {
		for i := range 17 {
			m.Labels[strings.Repeat("k", 1+i)] = "many"
		}
	}},

	{field: "customer", change: func(m *order) { m.Customer = nil }},
	{field: "customer.serial", change: func(m *order) { m.Customer.Serial = 0 }},
	{field: "customer.name", change: func(m *order) { m.Customer.Name = "" }},
	{field: "customer.name", change: func(m *order) { m.Customer.Name = strings.Repeat("日", 101) }},
	{field: "customer.email", change: func(m *order) { m.Customer.Email = "" }},
	{field: "customer.email", change: func(m *order) { m.Customer.Email = "nobody" }},
	{field: "customer.email", change: func(m *order) { m.Customer.Email = "a@b@example.com" }},
	{field: "customer.email", change: func(m *order) { m.Customer.Email = "a@-example.com" }},
	{field: "customer.email", disputed: afterName, change: func(m *order) { m.Customer.Email = "Ada <ada@example.com>" }},
	{field: "customer.email", disputed: noDot, change: func(m *order) { m.Customer.Email = "ada@localhost" }},
	{field: "customer.phone", change: func(m *order) { m.Customer.Phone = proto.String("030 1234567") }},
	{field: "customer.phone", change: func(m *order) { m.Customer.Phone = proto.String("+49 30") }},

	{field: "ship_to", change: func(m *order) { m.ShipTo = nil }},
	{field: "ship_to.street", change: func(m *order) { m.ShipTo.Street = "" }},
	{field: "ship_to.city", change: func(m *order) { m.ShipTo.City = strings.Repeat("é", 101) }},
	{field: "ship_to.postal_code", change: func(m *order) { m.ShipTo.PostalCode = "12" }},
	{field: "ship_to.country", change: func(m *order) { m.ShipTo.Country = "D" }},
	{field: "bill_to.street", change: func(m *order) { m.BillTo = billTo(func(a *pbcheck.Address) { a.Street = strings.Repeat("s", 101) }) }},
	{field: "bill_to.city", change: func(m *order) { m.BillTo = billTo(func(a *pbcheck.Address) { a.City = "" }) }},
	{field: "bill_to.postal_code", change: func(m *order) { m.BillTo = billTo(func(a *pbcheck.Address) { a.PostalCode = "12345678901" }) }},
	{field: "bill_to.country", change: func(m *order) { m.BillTo = billTo(func(a *pbcheck.Address) { a.Country = "DEU" }) }},

	{field: "items", change: func(m *order) { m.Items = nil }},
	{field: "items", change: func(m *order) {
		for len(m.Items) <= 100 {
			m.Items = append(m.Items, m.Items[0])
		}
	}},
	{field: "items.sku", change: func(m *order) { m.Items[7].Sku = "ABC" }},
	{field: "items.title", change: func(m *order) { m.Items[3].Title = "" }},
	{field: "items.title", change: func(m *order) { m.Items[3].Title = strings.Repeat("é", 201) }},
	{field: "items.quantity", change: func(m *order) { m.Items[0].Quantity = 0 }},
	{field: "items.quantity", change: func(m *order) { m.Items[7].Quantity = 1001 }},
	{field: "items.unit_price", change: func(m *order) { m.Items[5].UnitPrice = nil }},
	{field: "items.unit_price.currency", change: func(m *order) { m.Items[7].UnitPrice.Currency = "eur" }},
	{field: "items.unit_price.minor_units", change: func(m *order) { m.Items[7].UnitPrice.MinorUnits = -1 }},
	{field: "items.tax_rate", change: func(m *order) { m.Items[1].TaxRate = 1 }},
	{field: "items.tax_rate", change: func(m *order) { m.Items[1].TaxRate = -0.01 }},
	{field: "items.tax_rate", disputed: nan, change: func(m *order) { m.Items[1].TaxRate = math.NaN() }},
	{field: "items.discount_percent", change: func(m *order) { m.Items[6].DiscountPercent = proto.Int32(0) }},
	{field: "items.discount_percent", change: func(m *order) { m.Items[6].DiscountPercent = proto.Int32(91) }},

	{field: "total", change: func(m *order) { m.Total = nil }},
	{field: "total.currency", change: func(m *order) { m.Total.Currency = "" }},
	{field: "total.minor_units", change: func(m *order) { m.Total.MinorUnits = -1 }},
}

func billTo(change func(*pbcheck.Address)) *pbcheck.Address {
	address := &pbcheck.Address{Street: "Main Street 1", City: "Kraków", PostalCode: "00-950", Country: "PL"}
	change(address)
	return address
}

var tinyTrials = []trial[tiny]{
	{change: func(m *tiny) { m.Serial, m.Value = math.MaxUint64, 1e6 }},
	{change: func(m *tiny) { m.Serial, m.Value = 1, -1e6 }},
	{field: "serial", change: func(m *tiny) { m.Serial = 0 }},
	{field: "value", change: func(m *tiny) { m.Value = 1e6 + 1 }},
	{field: "value", change: func(m *tiny) { m.Value = math.Inf(-1) }},
	{field: "value", disputed: nan, change: func(m *tiny) { m.Value = math.NaN() }},
}
