import Experimentation
import GatewayBodies
import Synchronization

/// The users who have denied consent while the database was away: of what came before, nothing is handed over.
///
/// A mark names the denial that set it, so that ending that one leaves a later one alone. It also lists the grants that are
/// being accepted: one that was accepted counts, even if the process ended before it could remove the mark.
final class DenialMarks: Sendable {
    private let state: any StateStore
    /// The users of whom a grant is being accepted, by digest, and how many.
    private let granting = Mutex<[String: Int]>([:])

    private static let prefix = "gateway/denied/"
    /// The mark of earlier versions.
    private static let nameless = DenialMark([1])

    init(_ state: any StateStore) { self.state = state }

    /// What is to become of a parcel of a user.
    enum Standing: Sendable {
        /// It may go.
        case free
        /// It comes from before a denial.
        case denied
        /// Its standing can't be told yet, such as while a grant is about to end the denial: it is asked again.
        case unsettled
    }

    private static func key(_ userID: String) -> String { prefix + SeenEvents.digest(userID) }

    private func mark(of userID: String) async throws(ExperimentationError) -> DenialMark? {
        try await state.value(for: Self.key(userID)).map { DenialMark($0) }
    }

    /// Whether a user has denied consent.
    func isDenied(_ userID: String) async throws(ExperimentationError) -> Bool {
        try await mark(of: userID) != nil
    }

    /// Sets the mark of a denial.
    func set(by denial: EventRequest) async throws(ExperimentationError) {
        try await state.setValue(DenialMark(of: denial).bytes, for: Self.key(denial.user.id))
    }

    /// Ends a user's denial once a grant is accepted.
    ///
    /// Not before: if it isn't, the denial stands.
    func end(
        by grant: EventRequest,
        once accept: () async throws(ExperimentationError) -> Void
    ) async throws(ExperimentationError) {
        let key = Self.key(grant.user.id)
        granting.withLock { $0[key, default: 0] += 1 }
        defer {
            granting.withLock { granting in
                let left = (granting[key] ?? 1) - 1
                granting[key] = left > 0 ? left : nil
            }
        }
        let mark = try await change(at: key) { $0.adding(grant) }
        do throws(ExperimentationError) { try await accept() } catch {
            // If the outcome is open, the grant may have been accepted.
            if !EventRefusal(error.code, error.message).isOpen {
                _ = try? await change(at: key) { $0.removing(grant) }
            }
            throw error
        }
        guard let mark else { return }
        try await change(at: key) { $0.denial == mark.denial ? nil : $0 }
    }

    /// Removes the mark that lists an event: it is a grant that was accepted.
    func settle(_ event: EventRequest) async throws(ExperimentationError) {
        try await change(at: Self.key(event.user.id)) { $0.lists(event) ? nil : $0 }
    }

    /// Removes the mark of a denial that has reached the database, which decides from then on.
    ///
    /// - Parameter denial: The event; nothing happens after any other.
    func remove(after denial: EventRequest) async {
        guard case .consentChanged(false) = denial.event.kind else { return }
        let ended = [DenialMark(of: denial).denial, Self.nameless.denial]
        _ = try? await change(at: Self.key(denial.user.id)) { ended.contains($0.denial) ? nil : $0 }
    }

    /// Changes a user's mark, even if others change it at the same moment.
    ///
    /// - Parameters:
    ///   - key: The user's key.
    ///   - transform: What becomes of a mark; `nil` removes it.
    /// - Returns: What has become of it; `nil` also if there was none.
    /// - Throws: `ErrorCode.store`.
    @discardableResult
    private func change(
        at key: String,
        _ transform: (DenialMark) -> DenialMark?
    ) async throws(ExperimentationError) -> DenialMark? {
        var found = try await state.value(for: key)
        while let bytes = found {
            let mark = DenialMark(bytes)
            let changed = transform(mark)
            if changed == mark { return mark }
            guard case .conflict(let other) = try await state.update(key, to: changed?.bytes, if: bytes) else {
                return changed
            }
            found = other
        }
        return nil
    }

    /// What is to become of a parcel of a user that needs consent.
    ///
    /// - Parameters:
    ///   - userID: The user.
    ///   - event: The event that the parcel contains, if it contains one.
    /// - Returns: Whether it may go.
    func standing(of userID: String, for event: EventRequest? = nil) async -> Standing {
        // Asked first: a grant is over only after the mark is gone.
        let isGranting = granting.withLock { $0[Self.key(userID)] != nil }
        let found: DenialMark?
        // What can't be read may be a denial.
        do throws(ExperimentationError) { found = try await mark(of: userID) } catch { return .unsettled }
        guard let mark = found else { return .free }
        if isGranting { return .unsettled }
        // A grant that waits was accepted, although its process couldn't say so any more.
        return event.map { mark.lists($0) } == true ? .free : .denied
    }
}
