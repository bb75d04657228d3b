package httpapi

// NormalJSON is normalJSON for tests from outside the package.
var NormalJSON = normalJSON
