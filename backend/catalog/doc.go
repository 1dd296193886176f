// Package catalog keeps what agents offer: per folder and once without one.
//
// An agent is asked only when nothing is known of the scope, or by a person's
// refresh. What was learned stays, errors as well: no age, focus, opened picker
// or changed setting asks again. It imports only the contract.
package catalog
