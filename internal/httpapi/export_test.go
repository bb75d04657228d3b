package httpapi

// NormalJSON exports normalJSON for external tests.
var NormalJSON = normalJSON
