import Experimentation
import GatewayBodies
import Synchronization

/// The users who have denied consent while the database was away: of what came before, nothing is handed over.
///
/// A mark names the denial that set it, so that whoever ends that one leaves a later one alone.
final class DenialMarks: Sendable {
    private let state: any StateStore
    /// The users of whom a grant is being accepted, by digest, and how many.
    private let granting = Mutex<[String: Int]>([:])

    private static let prefix = "gateway/denied/"
    /// The mark of earlier versions.
    private static let nameless: [UInt8] = [1]

    init(_ state: any StateStore) { self.state = state }

    /// What is to become of a parcel of a user.
    enum Standing: Sendable {
        /// It may go.
        case free
        /// It comes from before a denial.
        case denied
        /// It may have been accepted with a grant that is about to end the denial: it is asked again.
        case unsettled
    }

    private static func key(_ userID: String) -> String { prefix + SeenEvents.digest(userID) }
    private static func mark(_ denial: EventRequest) -> [UInt8] { Array(SeenEvents.digest(denial.id).utf8) }

    /// Whether a user has denied consent.
    func isDenied(_ userID: String) async throws(ExperimentationError) -> Bool {
        try await state.value(for: Self.key(userID)) != nil
    }

    /// Sets the mark of a denial.
    func set(by denial: EventRequest) async throws(ExperimentationError) {
        try await state.setValue(Self.mark(denial), for: Self.key(denial.user.id))
    }

    /// Ends a user's denial once a grant is accepted.
    ///
    /// Not before: if it isn't, the denial stands.
    func end(
        of userID: String,
        once accept: () async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) {
        let key = Self.key(userID)
        granting.withLock { $0[key, default: 0] += 1 }
        defer {
            granting.withLock { granting in
                let left = (granting[key] ?? 1) - 1
                granting[key] = left > 0 ? left : nil
            }
        }
        let mark = try await state.value(for: key)
        try await accept()
        if let mark { _ = try await state.update(key, to: nil, if: mark) }
    }

    /// Removes the mark of a denial that has reached the database, which decides from then on.
    func remove(after denial: EventRequest) async {
        for mark in [Self.mark(denial), Self.nameless] {
            _ = try? await state.update(Self.key(denial.user.id), to: nil, if: mark)
        }
    }

    /// What is to become of a parcel of a user that needs consent.
    func standing(of userID: String) async -> Standing {
        // Asked first: a grant is over only after the mark is gone.
        let isGranting = granting.withLock { $0[Self.key(userID)] != nil }
        guard (try? await isDenied(userID)) == true else { return .free }
        return isGranting ? .unsettled : .denied
    }
}
