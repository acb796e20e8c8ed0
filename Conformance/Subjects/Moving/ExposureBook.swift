import ConformanceKit
import ExperimentationMigration

/// How often each user was exposed to each experiment, and how often either vendor heard of it.
///
/// Takes four bytes per user and experiment.
package struct ExposureBook: Sendable {
    /// The exposures of one vendor.
    package struct Sum: Sendable, Equatable {
        /// The number that the users caused.
        package var expected = 0
        /// The number that arrived for them.
        package var received = 0
        /// The number that arrived for a user and an experiment beyond those that the user caused in it.
        package var twice = 0
        /// The number that a user caused in an experiment and that didn't arrive there.
        package var missing = 0
        /// The number that arrived for no user, or for no experiment of the move.
        package var unexpected = 0

        package init(expected: Int = 0, received: Int = 0, twice: Int = 0, missing: Int = 0, unexpected: Int = 0) {
            (self.expected, self.received, self.twice) = (expected, received, twice)
            (self.missing, self.unexpected) = (missing, unexpected)
        }
    }

    private let mapping: Mapping
    private let users: Int
    private var expected: [MigrationSide: [UInt8]]
    private var received: [MigrationSide: [UInt8]]
    private var unexpected: [MigrationSide: Int] = [:]
    /// The ids of the exposures that have arrived, as hashes.
    private var ids: [MigrationSide: Set<Int>] = [:]
    private var places: [MigrationSide: [String: Int]] = [:]

    package init(users: Int, _ mapping: Mapping) {
        self.mapping = mapping
        self.users = users
        let none = [UInt8](repeating: 0, count: users * mapping.experiments.count)
        (expected, received) = ([.old: none, .new: none], [.old: none, .new: none])
        for side in MigrationSide.allCases {
            for (index, experiment) in mapping.experiments.enumerated() {
                let place = experiment.place(at: side)
                places[side, default: [:]][place.group] = index
                places[side, default: [:]][place.experiment] = index
            }
        }
    }

    /// Counts the exposure of a user who has read the flags of an experiment, answered by a vendor.
    package mutating func expect(of user: Int, inExperiment index: Int, from side: MigrationSide) {
        let cell = user * mapping.experiments.count + index
        expected[side]?[cell].count()
    }

    /// Counts an exposure that has arrived at a vendor.
    ///
    /// One that arrives again under the same id is not counted again.
    package mutating func receive(_ exposure: Received, at side: MigrationSide) {
        if let id = exposure.eventID, !ids[side, default: []].insert(id.hashValue).inserted { return }
        // `visit-7` and, once signed in, `person-7`.
        let user = exposure.userID.flatMap { $0.split(separator: "-").last }.flatMap { Int($0) }
        let index = exposure.experiment.flatMap { places[side]?[$0] }
        guard let user, let index, (0..<users).contains(user) else {
            unexpected[side, default: 0] += 1
            return
        }
        received[side]?[user * mapping.experiments.count + index].count()
    }

    /// What became of the exposures at one vendor.
    package func sum(at side: MigrationSide) -> Sum {
        var sum = Sum(unexpected: unexpected[side] ?? 0)
        for (expected, received) in zip(expected[side] ?? [], received[side] ?? []) {
            sum.expected += Int(expected)
            sum.received += Int(received)
            sum.twice += max(Int(received) - Int(expected), 0)
            sum.missing += max(Int(expected) - Int(received), 0)
        }
        return sum
    }
}

extension UInt8 {
    fileprivate mutating func count() { if self < .max { self += 1 } }
}
