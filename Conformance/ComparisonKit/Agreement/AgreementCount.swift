/// The counts of an agreement so far: sums only, so that memory doesn't grow with the number of users.
public struct AgreementCount: Sendable, Hashable {
    /// The number of users that both vendors decided for.
    public var users = 0
    /// The number of users that one of the vendors gave no answer for.
    public var unanswered = 0
    /// The reason for the first of them.
    public var firstFailure: String?
    var heldOutBefore = 0
    var heldOutAfter = 0
    var tables: [Table]

    /// The number of users of an experiment by place before and after.
    ///
    /// The last row and the last column are for users outside.
    struct Table: Sendable, Hashable {
        let rows: Int
        let columns: Int
        var plain: [Int]
        var imported: [Int]
        var drawnBefore: [Int]
        var drawnAfter: [Int]
        /// After importing, without the users that either vendor has on a list.
        var drawnImported: [Int]

        init(variationsBefore: Int, variationsAfter: Int) {
            rows = variationsBefore + 1
            columns = variationsAfter + 1
            plain = [Int](repeating: 0, count: rows * columns)
            imported = plain
            drawnBefore = [Int](repeating: 0, count: variationsBefore)
            drawnAfter = [Int](repeating: 0, count: variationsAfter)
            drawnImported = drawnAfter
        }

        /// The index of a cell; -1 means outside.
        func cell(_ before: Int, _ after: Int) -> Int {
            (before < 0 ? rows - 1 : before) * columns + (after < 0 ? columns - 1 : after)
        }
    }

    init(tables: [Table]) { self.tables = tables }

    /// Adds the counts of another run.
    public mutating func add(_ other: AgreementCount) {
        users += other.users
        unanswered += other.unanswered
        firstFailure = firstFailure ?? other.firstFailure
        heldOutBefore += other.heldOutBefore
        heldOutAfter += other.heldOutAfter
        for index in tables.indices where other.tables.indices.contains(index) {
            tables[index].plain.add(other.tables[index].plain)
            tables[index].imported.add(other.tables[index].imported)
            tables[index].drawnBefore.add(other.tables[index].drawnBefore)
            tables[index].drawnAfter.add(other.tables[index].drawnAfter)
            tables[index].drawnImported.add(other.tables[index].drawnImported)
        }
    }
}

extension [Int] {
    fileprivate mutating func add(_ other: [Int]) {
        for index in indices where other.indices.contains(index) { self[index] += other[index] }
    }
}
