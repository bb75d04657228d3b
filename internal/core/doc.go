// Package core holds what every other package speaks of: ids, errors, pages, the clock, and who is asking and what
// they may do. It knows no protocol and no database.
package core
