/// The decisions for one user: a catalogue, which many users share, and a small choice for each of its flags.
///
/// A choice takes one byte, or two where a flag of the catalogue has more than 254 values.
public struct Decisions: Sendable {
    /// The flags with all their possible values.
    public let catalogue: FlagCatalogue
    let choices: Choices
    private let flagless: [Int]

    /// Creates decisions over a shared catalogue.
    ///
    /// - Parameters:
    ///   - catalogue: The flags.
    ///   - outcomes: For each flag, the index of its value, or `nil` if the user doesn't have the flag.
    ///     Missing or invalid indices count as `nil`.
    ///   - alsoAssigned: The user's assignments that no chosen value refers to, by index.
    public init(catalogue: FlagCatalogue, outcomes: [Int?], alsoAssigned: [Int] = []) {
        self.catalogue = catalogue
        choices = Choices(catalogue: catalogue, outcomes: outcomes)
        flagless = Self.flagless(alsoAssigned, catalogue, choices)
    }

    /// Creates decisions for one user alone, for a vendor that is asked for each user.
    ///
    /// - Parameters:
    ///   - flags: What each flag resolves to; of two equal keys the later counts.
    ///   - assignments: The user's assignments, all of which count.
    public init(flags: [(key: String, resolution: Resolution)], assignments: [Assignment] = []) {
        let catalogue = FlagCatalogue(
            flags: flags.map { FlagCatalogue.Flag($0.key, outcomes: [$0.resolution]) },
            assignments: assignments
        )
        self.init(
            catalogue: catalogue,
            outcomes: Array(repeating: 0, count: catalogue.count),
            alsoAssigned: Array(assignments.indices)
        )
    }

    /// Returns the assignments that no chosen value refers to; the others need no memory of their own.
    private static func flagless(_ all: [Int], _ catalogue: FlagCatalogue, _ choices: Choices) -> [Int] {
        guard !all.isEmpty else { return [] }
        return withUnsafeTemporaryAllocation(of: Bool.self, capacity: catalogue.assignments.count) { isImplied in
            isImplied.initialize(repeating: false)
            choices.visitPlaces(in: catalogue) { isImplied[$0] = true }
            return all.filter { isImplied.indices.contains($0) && !isImplied[$0] }
        }
    }

    /// Decisions without any flag.
    public static let none = Decisions(catalogue: .empty, outcomes: [])

    /// Returns the index of a flag's value for this user, or `nil`.
    public func outcome(ofFlag flag: Int) -> Int? {
        guard flag >= 0, flag < catalogue.count else { return nil }
        let choice = choices[flag]
        return choice == 0 ? nil : choice - 1
    }

    /// What a flag resolves to for this user, or `nil`.
    public subscript(key: String) -> Resolution? {
        guard let flag = catalogue.index(of: key), let outcome = outcome(ofFlag: flag) else { return nil }
        return catalogue.resolution(ofFlag: flag, outcome: outcome)
    }

    /// The keys of the flags that this user has, in the vendor's order.
    public var keys: [String] {
        catalogue.keys.indices.filter { choices[$0] != 0 }.map { catalogue.keys[$0] }
    }

    /// The user's assignments to experiments and holdouts, each once, in the vendor's order.
    public var assignments: [Assignment] { assignmentIndices.map { catalogue.assignments[$0] } }

    /// The user's assignments as indices into the catalogue's.
    package var assignmentIndices: [Int] {
        withUnsafeTemporaryAllocation(of: Bool.self, capacity: catalogue.assignments.count) { isThere in
            isThere.initialize(repeating: false)
            visitAssignments { isThere[$0] = true }
            return isThere.indices.filter { isThere[$0] }
        }
    }

    /// Visits the same indices without making a list of them: in no order, and one again for each flag that refers to
    /// it.
    package func visitAssignments(_ visit: (Int) -> Void) {
        for index in flagless { visit(index) }
        choices.visitPlaces(in: catalogue, visit)
    }
}

extension Decisions: Equatable {
    /// Compares the user's values and assignments, not how they are stored.
    public static func == (one: Self, other: Self) -> Bool {
        one.keys == other.keys && one.assignments == other.assignments
            && one.keys.allSatisfy { Self.same(one[$0], other[$0]) }
    }

    private static func same(_ one: Resolution?, _ other: Resolution?) -> Bool {
        var one = one
        var other = other
        one?.assignment = nil
        other?.assignment = nil
        return one == other
    }
}

/// One small number for each flag: 0 for a flag that the user doesn't have, else the outcome's index plus one.
final class Choices: Sendable {
    // Written in the initializer and only read after it.
    private nonisolated(unsafe) let narrow: UnsafeMutablePointer<UInt8>
    private nonisolated(unsafe) let wide: UnsafeMutablePointer<UInt16>
    private let isWide: Bool

    init(catalogue: FlagCatalogue, outcomes: [Int?]) {
        let count = catalogue.count
        isWide = catalogue.mostOutcomes > 254
        narrow = .allocate(capacity: isWide ? 1 : max(count, 1))
        wide = .allocate(capacity: isWide ? count : 1)
        for flag in 0..<count {
            let most = min(catalogue.outcomeCount(ofFlag: flag), 65_534)
            let outcome = flag < outcomes.count ? outcomes[flag] ?? -1 : -1
            let choice = outcome >= 0 && outcome < most ? outcome + 1 : 0
            if isWide { wide[flag] = UInt16(choice) } else { narrow[flag] = UInt8(choice) }
        }
    }

    /// Visits the places in experiments that the chosen values refer to.
    @inline(__always)
    func visitPlaces(in catalogue: FlagCatalogue, _ visit: (Int) -> Void) {
        for flag in 0..<catalogue.count {
            let choice = self[flag]
            guard choice != 0 else { continue }
            let place = catalogue.outcome(flag, choice - 1).pointee.place
            if place >= 0 { visit(Int(place)) }
        }
    }

    deinit {
        narrow.deallocate()
        wide.deallocate()
    }

    subscript(flag: Int) -> Int { isWide ? Int(wide[flag]) : Int(narrow[flag]) }
}
