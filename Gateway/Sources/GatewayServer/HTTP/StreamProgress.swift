/// How many changes a client was told of, and of how many it has yet to be told.
struct StreamProgress: Sendable {
    /// The number of changes that it was told last.
    private var told: Int
    /// The number that it is told once it reads on; `nil` if it reads.
    private(set) var due: Int?

    init(told: Int) { self.told = told }

    /// Takes a number of changes, which a greater one may have overtaken on its way.
    ///
    /// - Parameters:
    ///   - count: The number.
    ///   - isReading: Whether the client reads what it is told.
    /// - Returns: The number to tell, and the one that was told before; `nil` while the client doesn't read.
    mutating func take(_ count: Int, isReading: Bool) -> (count: Int, told: Int)? {
        let latest = max(count, due ?? 0)
        guard isReading else {
            due = latest
            return nil
        }
        defer { (told, due) = (max(told, latest), nil) }
        return (latest, told)
    }
}
