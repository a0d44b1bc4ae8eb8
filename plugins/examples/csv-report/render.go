package main

import (
	"bytes"
	"fmt"
	"strings"
)

// Markdown writes a report for people.
func Markdown(r Report) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Orders\n\n%d orders of %d customers, %s %s in all.\n", r.Orders, r.CustomerCount, r.Total, r.Currency)
	if r.OtherCurrency > 0 {
		fmt.Fprintf(&b, "%d orders in other currencies are left out.\n", r.OtherCurrency)
	}
	if r.BadRows > 0 {
		fmt.Fprintf(&b, "%d of %d rows could not be used; they are listed at the end.\n", r.BadRows, r.Rows)
	}
	table(&b, "By month", "month", r.Currency, r.Months)
	table(&b, "Top customers", "customer", r.Currency, r.Customers)
	table(&b, "Top products", "product", r.Currency, r.Products)
	if len(r.Bad) > 0 {
		b.WriteString("\n## Rows left out\n\n| line | why |\n| ---: | --- |\n")
		for _, bad := range r.Bad {
			fmt.Fprintf(&b, "| %d | %s |\n", bad.Line, cell(bad.Why))
		}
		if more := r.BadRows - len(r.Bad); more > 0 {
			fmt.Fprintf(&b, "\nAnd %d more.\n", more)
		}
	}
	return b.Bytes()
}

func table(b *bytes.Buffer, title, name, currency string, groups []Group) {
	if len(groups) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n| %s | orders | quantity | %s |\n| --- | ---: | ---: | ---: |\n", title, name, currency)
	for _, g := range groups {
		fmt.Fprintf(b, "| %s | %d | %d | %s |\n", cell(g.Name), g.Orders, g.Quantity, g.Amount)
	}
}

// cell keeps text from the file from ending a cell or a row.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ").Replace(s)
}
