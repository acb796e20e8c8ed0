import Experimentation

/// A promise, and how to verify that it is kept.
///
/// Has a permanent name, the requirements, the initial world, the faults and the steps.
public struct ConformanceCase: Sendable, Identifiable, CustomStringConvertible {
    /// The steps of a case.
    public typealias Steps = @Sendable (Probe) async throws -> Void

    /// The name, such as `exposures/recorded-once`; it never changes once published.
    public let name: String
    /// The line of the neutral contract that it verifies, from 1 to 23.
    public let promise: Int
    /// What it verifies, in a sentence.
    public let summary: String
    /// The capabilities that the subject must declare for this case to run.
    public let requires: Set<Capability>
    /// The parts of the world that must exist, by the paths of ``WorldGap``.
    public let needs: [String]
    /// The fields that the vendor's wire must carry.
    public let fields: Set<Received.Field>
    /// A capability that this case detects even if it isn't declared; `nil` for most.
    public let probes: Capability?
    /// Whether it is read-only and may run against a vendor's real account.
    public let isSafeLive: Bool
    /// The initial world.
    public let world: World
    /// The faults injected from the beginning.
    public let faults: [WorldFault]
    /// The steps.
    public let steps: Steps

    /// Creates a case.
    ///
    /// - Parameters:
    ///   - name: The name, two or more parts separated by slashes.
    ///   - promise: The line of the neutral contract.
    ///   - summary: What it verifies, in a sentence.
    ///   - requires: The capabilities that the subject must declare.
    ///   - needs: The parts of the world that must exist: flags and experiments that the steps read.
    ///   - fields: The fields that the vendor's wire must carry.
    ///   - probes: The capability that a pass proves even if it isn't declared.
    ///   - isSafeLive: Whether it may run against a real account.
    ///   - world: The initial world.
    ///   - faults: The faults injected from the beginning.
    ///   - steps: The steps; they state expectations through the probe.
    public init(
        _ name: String,
        promise: Int,
        _ summary: String,
        requires: Set<Capability> = [],
        needs: [String] = [],
        fields: Set<Received.Field> = [],
        probes: Capability? = nil,
        isSafeLive: Bool = false,
        world: World,
        faults: [WorldFault] = [],
        steps: @escaping Steps
    ) {
        self.name = name
        self.promise = promise
        self.summary = summary
        self.requires = requires
        self.needs = needs
        self.fields = fields
        self.probes = probes
        self.isSafeLive = isSafeLive
        self.world = world
        self.faults = faults
        self.steps = steps
    }

    /// The name.
    public var id: String { name }
    /// The name.
    public var description: String { name }

    /// Whether it is about data that outlives a process, and is therefore most meaningful with real files.
    public var isAboutRestarts: Bool {
        ["*restart*", "*-kill*", "caching/offline-*", "caching/cached-*", "caching/not-another-*", "caching/tampered*"]
            .contains(where: matches)
            || ["stores/*", "consent/denied-meanwhile", "deadlines/shutdown-keeps-the-rest"].contains(where: matches)
    }

    /// Whether the name matches a pattern in which `*` matches any text, slashes included.
    public func matches(_ pattern: String) -> Bool { Self.match(Array(name.utf8), Array(pattern.utf8)) }

    private static func match(_ text: [UInt8], _ pattern: [UInt8]) -> Bool {
        var position = 0
        var place = 0
        var star: (pattern: Int, text: Int)?
        while position < text.count {
            if place < pattern.count, pattern[place] == UInt8(ascii: "*") {
                star = (place, position)
                place += 1
            } else if place < pattern.count, pattern[place] == text[position] {
                place += 1
                position += 1
            } else if let last = star {
                place = last.pattern + 1
                position = last.text + 1
                star = (last.pattern, position)
            } else {
                return false
            }
        }
        while place < pattern.count, pattern[place] == UInt8(ascii: "*") { place += 1 }
        return place == pattern.count
    }
}

/// The lines of the neutral contract, by number.
public enum Promise {
    /// The chapters, each with its range of lines.
    public static let chapters: [(name: String, lines: ClosedRange<Int>)] = [
        ("Evaluation", 1...7), ("Experiments", 8...10), ("Delivery", 11...15), ("Identity and consent", 16...17),
        ("Life cycle", 18...20), ("Moving", 21...23),
    ]

    /// A short text for each line.
    public static let texts: [Int: String] = [
        1: "Reading never throws, blocks or crashes; on failure it gives the default with a code",
        2: "Numbers convert only when nothing is lost; a Boolean is never a number",
        3: "A session reads one immutable snapshot; a refresh replaces it whole",
        4: "Values come with a reason",
        5: "The last good decisions outlive any bad answer, as stale and with their age",
        6: "One malformed flag hides no other; an unknown operator never matches",
        7: "Concurrent refreshes of one user are one request",
        8: "An assignment is kept for as long as the vendor promises",
        9: "Holdouts, control groups and forced assignments are visible as such",
        10: "An exposure is recorded once, and never for a default, an error or without consent",
        11: "An accepted event survives a kill and is delivered at least once, in order",
        12: "The ledger balances, always",
        13: "The store is bounded; what is dropped is the oldest and least important, and is counted",
        14: "A poison event blocks no others, an outage loses nothing, and only a confirmed delivery counts",
        15: "Flush and shutdown end by their deadline",
        16: "Consent holds, releases and purges",
        17: "Linking keeps what the vendor keeps, and resumes where it was interrupted",
        18: "Status changes are announced once, in order; late observers get the current one",
        19: "A kill switch reaches the next evaluation, survives a restart and lifts cleanly",
        20: "Secrets and personal data appear in no log, error or dump",
        21: "During a move, each vendor gets each event it is owed once, and each ledger balances by itself",
        22: "No user's variation changes because of a stage, a share, a login or a restart",
        23: "A shadow delays no user, records no exposure and sends no event",
    ]
}
