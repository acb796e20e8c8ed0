extension Int {
    /// The number with a singular or plural phrase: `1 event waits`, `2 events wait`.
    func of(_ one: String, _ several: String) -> String { "\(self) \(self == 1 ? one : several)" }
}
