// Package sdk has what guests import, in five languages, and makes projects of it for `jobhost new`. The SDK of each language
// is the folder of its name; docs/abi.md is the contract that all of them follow.
//
//   - [Languages] are those that there are.
//   - [Project] is a new project as files.
//
// What bites: a project has a copy of the SDK, so that it can be built without anything being published or fetched. Whatever
// a copy needs has to be in the list of embedded files. The templates end in .tmpl, since the go command would take a go.mod
// or a main.go among them for its own.
package sdk
