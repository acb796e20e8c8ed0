extension Int {
    /// The number with a singular or plural phrase: `1 event waits`, `2 events wait`.
    func of(_ one: String, _ several: String) -> String { "\(self) \(self == 1 ? one : several)" }

    /// The number as a part of all lines: `1 of 4 lines was`, `2 of 4 lines were`.
    func ofLines(_ all: Int) -> String { "\(self) of \(all.of("line", "lines")) \(self == 1 ? "was" : "were")" }
}
