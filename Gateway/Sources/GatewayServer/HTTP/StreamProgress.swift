/// The number of changes that a client has been told, and the number that it has yet to be told.
struct StreamProgress: Sendable {
    /// The last number that the client was told.
    private var told: Int
    /// The number to tell once the client reads again; `nil` while it reads.
    private(set) var due: Int?

    init(told: Int) { self.told = told }

    /// Takes a number of changes, which a greater number may have overtaken on its way.
    ///
    /// - Parameters:
    ///   - count: The number.
    ///   - isReading: Whether the client reads what it is told.
    /// - Returns: The number to tell, and the number told before; `nil` while the client doesn't read.
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
