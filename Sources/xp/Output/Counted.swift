extension Int {
    /// The number with what it counts, in the words for one or for several: `1 event waits`, `2 events wait`.
    func of(_ one: String, _ several: String) -> String { "\(self) \(self == 1 ? one : several)" }
}
