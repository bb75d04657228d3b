package format

import "strings"

const (
	// maxTables limits the nesting of tables that are kept. Text is copied once for each.
	maxTables = 3
	// maxRow limits a row in bytes. Tables with longer rows are layouts, whose cells are paragraphs.
	maxRow = 1000
	// maxRowCells limits the cells of a row.
	maxRowCells = 2000
)

// table is an open table. Text between its cells belongs to the text around it.
type table struct {
	rows   int
	inRow  bool
	cells  []string
	cell   *flow
	filled int
}

// innermost returns the flow of the innermost open cell.
func (f *flow) innermost() *flow {
	for f.table != nil && f.table.cell != nil {
		f = f.table.cell
	}
	return f
}

// owner returns the flow with the innermost open table, or nil, and the number of open tables.
func (f *flow) owner() (owner *flow, depth int) {
	for g := f; g != nil && g.table != nil; g = g.table.cell {
		owner = g
		depth++
	}
	return owner, depth
}

func (f *flow) openTable() {
	_, depth := f.owner()
	if f.plain || f.untabled > 0 || depth >= maxTables {
		f.untabled++
		f.want(gapParagraph)
		return
	}
	f.want(gapParagraph)
	if g := f.innermost(); g.table == nil {
		g.table = &table{}
	} else {
		f.untabled++ // between the cells of another table
	}
}

func (f *flow) closeTable() {
	if f.untabled > 0 {
		f.untabled--
		f.want(gapParagraph)
		return
	}
	f.closeRow()
	if g, _ := f.owner(); g != nil {
		g.table = nil
	}
	f.want(gapParagraph)
}

func (f *flow) openRow() {
	f.closeRow()
	if g, _ := f.owner(); g != nil && f.untabled == 0 {
		g.table.inRow = true
	}
}

// openCell begins a cell, and a row if none is open.
func (f *flow) openCell() {
	g, _ := f.owner()
	if g == nil || f.untabled > 0 {
		f.want(gapCell)
		return
	}
	g.table.endCell()
	if len(g.table.cells) < maxRowCells {
		g.table.inRow, g.table.cell = true, &flow{}
	}
}

func (f *flow) closeCell() {
	g, _ := f.owner()
	if g == nil || f.untabled > 0 {
		f.want(gapCell)
		return
	}
	g.table.endCell()
}

func (t *table) endCell() {
	if t.cell == nil {
		return
	}
	text := t.cell.String()
	t.cells = append(t.cells, text)
	if t.filled += len(text); text == "" {
		t.filled++
	}
	t.cell = nil
}

// closeRow writes a row: on one line if it is short, else with a paragraph for each cell.
func (f *flow) closeRow() {
	g, _ := f.owner()
	if g == nil || f.untabled > 0 {
		f.want(gapLine)
		return
	}
	t := g.table
	t.endCell()
	if !t.inRow {
		return
	}
	cells, size := t.cells, t.filled
	t.cells, t.filled, t.inRow = nil, 0, false
	g.table = nil // the row is written around the table
	g.writeRow(t, cells, size)
	g.table = t
}

func (f *flow) writeRow(t *table, cells []string, size int) {
	if strings.Join(cells, "") == "" {
		return
	}
	if len(cells) == 1 || size > maxRow {
		for _, cell := range cells {
			f.want(gapParagraph)
			if cell != "" {
				f.write(cell)
			}
		}
		f.want(gapParagraph)
		return
	}
	for i, cell := range cells {
		cells[i] = strings.Join(strings.Fields(cell), " ")
	}
	f.want(gapLine)
	if t.rows == 1 {
		f.write("|" + strings.Repeat(" --- |", len(cells)))
		f.want(gapLine)
	}
	f.write("| " + strings.Join(cells, " | ") + " |")
	f.want(gapLine)
	t.rows++
}
