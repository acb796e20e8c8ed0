import Experimentation
import FlagManifest
import Foundation
import GatewayBodies
import HTTPTypes
import Synchronization

/// Evaluates the flags of a tenant.
///
/// While the vendor is unreachable or slow, answers come from stored decisions, with the reason `STALE`. While its kill
/// switch is on, every known flag has the reason `DISABLED` and no value.
final class Evaluator: Sendable {
    let client: ExperimentationClient
    let facts: ObservedProvider.Facts
    /// Whether the shared database was away when the tenant was opened, so that it confirms nothing.
    let isProvisional: Bool
    let meanwhile: Meanwhile?
    /// The users' earlier assignments; `nil` if none are kept.
    let assignments: AssignmentBook?
    private let types: DeclaredTypes
    let exposures: TenantConfiguration.Exposures
    let frame: BulkFrame
    let remembered = RememberedTags()
    /// The revisions of shared rules, so that no instance answers a client from older rules than another instance did.
    private let revisions: Revisions?
    private let kept = Mutex(Kept())
    /// Waits for new rules while there are older ones.
    let wait: RulesWait

    /// The revisions of rules that instances share, besides the revision of each ruleset, which is its validator.
    struct Revisions: Sendable {
        /// The revision with which the kill switch was last turned on.
        let disabled: @Sendable () -> Int64
    }

    private struct Kept {
        var good: FlagForms?
        var stale: FlagForms?
    }

    /// Creates an evaluator.
    ///
    /// - Parameters:
    ///   - client: Decides for users.
    ///   - facts: What is known about the vendor's roles.
    ///   - isProvisional: Whether the shared database was away when the tenant was opened.
    ///   - meanwhile: Takes exposures while the shared database is away.
    ///   - assignments: Where assignments are kept if the vendor promises to keep them; `nil` to compute each anew.
    ///   - types: The known types of flags.
    ///   - exposures: The exposures that single evaluations record.
    ///   - frame: What all bulk answers have in common.
    ///   - revisions: The revisions of rules that instances share; `nil` where they don't.
    ///   - time: The clock.
    init(
        _ client: ExperimentationClient,
        facts: ObservedProvider.Facts,
        isProvisional: Bool = false,
        meanwhile: Meanwhile? = nil,
        assignments: AssignmentBook?,
        types: DeclaredTypes,
        exposures: TenantConfiguration.Exposures,
        frame: BulkFrame,
        revisions: Revisions? = nil,
        time: any TimeSource = SystemTime()
    ) {
        self.revisions = revisions
        wait = RulesWait(by: time)
        (self.client, self.facts, self.isProvisional, self.meanwhile) = (client, facts, isProvisional, meanwhile)
        self.assignments = facts.isSticky ? assignments : nil
        self.types = types
        self.exposures = exposures
        self.frame = frame
    }

    /// Evaluates one flag.
    func evaluate(_ key: String, _ request: EvaluationRequest) async -> Answer {
        do throws(ProtocolError) {
            let decided = try await decide(for: request.user)
            guard let decided else { return try disabled(key) }
            guard let form = form(of: key, decided) else { throw Self.notFound }
            if exposures == .single, !form.isFailure { await expose(key, decided, request) }
            return Answer(EvaluationAnswer(form))
        } catch {
            return error.answer(for: key)
        }
    }

    /// Evaluates all flags; never records an exposure, because the user hasn't seen anything yet.
    func evaluateAll(_ user: User, ifNoneMatch: String?, announced: Int64? = nil) async -> Answer {
        do throws(ProtocolError) {
            return Answer(try await evaluation(for: user, ifNoneMatch: ifNoneMatch, announced: announced))
        } catch {
            return error.answer()
        }
    }

    /// Evaluates all flags.
    ///
    /// - Parameters:
    ///   - user: The user.
    ///   - ifNoneMatch: The tags that the client has.
    ///   - announced: The revision of the rules that the client was told.
    /// - Returns: The answer.
    /// - Throws: The protocol's error.
    func evaluation(
        for user: User,
        ifNoneMatch: String?,
        announced: Int64? = nil
    ) async throws(ProtocolError) -> EvaluationAnswer {
        var decided = try await decide(for: user)
        // Tried more than once, because a fetch under way that this joins may have begun before the rules that the
        // client has seen were published.
        for _ in 0..<3 where isBehind(revision(of: decided), ifNoneMatch, announced) {
            try? await client.refresh(force: true)
            decided = try await decide(for: user)
        }
        let revision = revision(of: decided)
        guard let decided else { return frame.answer(disabledItems, ifNoneMatch: ifNoneMatch, at: revision) }
        return frame.answer(items(of: decided), ifNoneMatch: ifNoneMatch, at: revision)
    }

    // MARK: Revisions

    /// The revision of the rules that decided, or of the kill switch; `nil` where instances share none.
    func revision(of decided: UserDecisions?) -> Int64? {
        guard let revisions else { return nil }
        guard let decided else { return revisions.disabled() }
        return decided.rulesValidator.flatMap { Int64($0) }
    }

    /// Whether a client has had an answer from newer rules than these, or has been told of newer ones.
    func isBehind(_ revision: Int64?, _ ifNoneMatch: String?, _ announced: Int64? = nil) -> Bool {
        guard let revision else { return false }
        let seen = max(ifNoneMatch.flatMap { EntityTag.revision(in: $0) } ?? 0, announced ?? 0)
        return revision < seen
    }

    // MARK: Writing

    private func form(of key: String, _ decided: UserDecisions) -> FlagForms.Form? {
        let decisions = decided.decisions
        guard let flag = decisions.catalogue.index(of: key), let outcome = decisions.outcome(ofFlag: flag) else {
            return nil
        }
        if let forms = sharedForms(of: decided) { return forms.form(ofFlag: flag, outcome: outcome) }
        guard let resolution = decisions.catalogue.resolution(ofFlag: flag, outcome: outcome) else { return nil }
        let type = types.type(of: key, values: CollectionOfOne(resolution.value))
        return FlagForms.form(key, resolution, type, decided.isStale ? .stale : nil)
    }

    private func items(of decided: UserDecisions) -> FlagForms.Chosen {
        let forms =
            sharedForms(of: decided)
            ?? FlagForms(decided.decisions.catalogue, types: types, reason: decided.isStale ? .stale : nil)
        return forms.chosen(by: decided.decisions)
    }

    /// The cached forms of a catalogue shared by users; `nil` for a single user's catalogue.
    private func sharedForms(of decided: UserDecisions) -> FlagForms? {
        let catalogue = decided.decisions.catalogue
        let isStale = decided.isStale
        let known = kept.withLock { isStale ? $0.stale : $0.good }
        if let known, known.catalogue === catalogue { return known }
        guard client.capabilities.contains(.localEvaluation) else { return nil }
        let forms = FlagForms(catalogue, types: types, reason: isStale ? .stale : nil)
        types.publish(catalogue.keys)
        kept.withLock { kept in
            if isStale { kept.stale = forms } else { kept.good = forms }
        }
        return forms
    }

    /// The encoded flags of a catalogue, if they were the last to be encoded and aren't stale.
    func knownForms(of catalogue: FlagCatalogue) -> FlagForms? {
        kept.withLock { $0.good.flatMap { $0.catalogue === catalogue ? $0 : nil } }
    }

    // MARK: The kill switch

    private func disabled(_ key: String) throws(ProtocolError) -> Answer {
        let mayExist = knownForms.map { $0.catalogue.index(of: key) != nil } ?? types.mayExist(key)
        guard mayExist else { throw Self.notFound }
        return Answer(EvaluationAnswer(Self.disabledForm(key)))
    }

    /// All known flags: those of the rules, or those that were seen before the last reload or by users of a vendor that
    /// is asked for each user.
    private var disabledItems: [FlagForms.Form] {
        let keys = knownForms?.catalogue.keys ?? types.keys.sorted()
        return keys.map(Self.disabledForm)
    }

    private static let notFound = ProtocolError(.flagNotFound, "No flag has this key for this user.")

    private static func disabledForm(_ key: String) -> FlagForms.Form {
        FlagForms.form(key, Resolution(.null, reason: .disabled), nil, nil)
    }

    // MARK: What is known

    /// The flags of the current ruleset with their types; `nil` for a vendor that is asked for each user.
    var knownForms: FlagForms? { kept.withLock { $0.good ?? $0.stale } }

    /// The flags of the current ruleset, which is fetched if there is none yet; never asks for a user's decisions.
    func forms() async -> FlagForms? {
        if let knownForms { return knownForms }
        guard client.capabilities.contains(.localEvaluation) else { return nil }
        guard let decided = try? await decide(for: User(id: "-", consent: .denied)) else { return nil }
        return sharedForms(of: decided)
    }
}
