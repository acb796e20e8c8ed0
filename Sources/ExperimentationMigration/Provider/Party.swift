import Experimentation
import Foundation
import Synchronization

/// One of the two vendors of a move, started.
final class Party: Sendable {
    /// A vendor's answer, with the configuration behind it.
    struct Answer: Sendable {
        var decisions: Decisions
        var version: String?
        var age: Duration?
        /// When the vendor was asked, at the earliest and at the latest; `nil` for rules of an earlier run.
        var asked: ClosedRange<Date>?
        var latency: Duration
    }

    let side: MigrationSide
    /// What the client kept when this vendor was its only one.
    let kept: KeptBefore
    let name: String
    let destination: Destination
    let roles: ProviderRoles
    /// The vendor's routes for events: its own sink, and further ones, as of a composition.
    let routes: [EventRoute]
    let rules: PartyRules?
    /// The experiments seen in the answers of a vendor that is asked for each user.
    let seen: SeenExperiments?
    private let time: any TimeSource
    private let killSwitch: KeptSwitch
    private let keys = Mutex<[String]>([])
    private let askedWhileOff = Mutex<ContinuousClock.Instant?>(nil)
    /// Marks assignments with this vendor's side.
    let marked: MarkedCatalogues

    /// Starts a vendor.
    ///
    /// - Parameters:
    ///   - provider: The vendor.
    ///   - side: Its side.
    ///   - context: The context of the move.
    ///   - client: What the client keeps of users.
    /// - Throws: Why it doesn't start.
    init(
        _ provider: any ExperimentationProvider,
        _ side: MigrationSide,
        in context: ProviderContext,
        client: KeptBefore? = nil
    ) async throws(ExperimentationError) {
        let kept = context.kept(for: provider)
        let context = context.context(of: provider)
        killSwitch = await KeptSwitch(
            in: context.state,
            as: "migration/off",
            time: context.environment.time,
            patience: context.patience
        )
        let roles = try await provider.start(in: context)
        self.side = side
        self.kept = kept
        self.roles = roles
        name = provider.name
        destination = provider.destination
        let own = roles.events.map { EventRoute(to: provider.destination, by: $0, needsConsent: roles.needsConsent) }
        routes = (own.map { [$0] } ?? []) + roles.furtherRoutes
        time = context.environment.time
        marked = MarkedCatalogues(side)
        if case .computed(let source) = roles.decisions {
            rules = PartyRules(source, in: context, before: kept, client: client)
        } else {
            rules = nil
        }
        if case .asked = roles.decisions { seen = SeenExperiments(in: context) } else { seen = nil }
    }

    /// Whether the vendor's kill switch is on, according to this run or an earlier one.
    var isOff: Bool { killSwitch.isOn }

    /// Records the state of the vendor's kill switch, also for the next run.
    ///
    /// - Parameters:
    ///   - isOff: What the vendor says.
    ///   - count: As for `KeptSwitch.flip(to:asOf:)`.
    func setOff(_ isOff: Bool, asOf count: Int? = nil) async {
        _ = killSwitch.flip(to: isOff, asOf: count)
        // If the store fails, an answer of the vendor a few seconds later tries again.
        try? await killSwitch.store()
    }

    /// Whether the vendor may be sent events again, though its kill switch was on when it last answered.
    ///
    /// In a stage that doesn't ask the vendor for decisions, nothing else would notice.
    ///
    /// - Parameters:
    ///   - user: A user with events for it.
    ///   - interval: How often it is asked.
    /// - Returns: Whether its events may go on.
    func isOnAgain(for user: Identity?, every interval: Duration) async -> Bool {
        let now = time.instant
        let isDue = askedWhileOff.withLock { asked in
            if let asked, asked.duration(to: now) < interval { return false }
            asked = now
            return true
        }
        guard isDue, let user else { return !isOff }
        // The next delivery shows whether it is.
        guard roles.decisions != nil else { return true }
        // The event may be a denial; only the switch in the answer counts.
        let asked = User(
            id: user.id,
            anonymousID: user.anonymousID,
            isAuthenticated: user.isAuthenticated,
            consent: .denied
        )
        let context = EvaluationContext(user: asked, date: time.now)
        _ = try? await answer(for: context, isForced: true, isShadow: true)
        return !isOff
    }

    /// The first destination of the vendor that takes an event; `nil` if none does.
    func destination(taking event: TrackingEvent) -> Destination? {
        routes.first { (try? $0.sink.check(event)) != nil }?.destination
    }

    /// The flags of the vendor's last decisions.
    var lastKeys: [String] { keys.withLock { $0 } }

    /// How the vendor can be told of users' places; a vendor that is asked for each user can't honor earlier
    /// assignments.
    var policy: AssignmentPolicy {
        var policy = roles.assignments
        policy.isSticky = policy.isSticky && rules != nil
        return policy
    }

    /// Whether the vendor can be told of users' places: by its stickiness if it decides on this device, or by
    /// overrides.
    var canBeTold: Bool { policy.isSticky || policy.allowsOverrides }

    /// The validity of the vendor's answers.
    var freshness: Freshness {
        switch roles.decisions {
        case .asked(let source): source.freshness
        case .computed(let source): source.freshness
        case nil: Freshness()
        }
    }

    /// Returns the experiments of the known rules, fetched if there are none, or the experiments seen in answers.
    ///
    /// A new vendor without experiments, or disabled when it was last asked, is asked again: that may have changed.
    ///
    /// - Returns: The experiments; `nil` for a disabled vendor.
    /// - Throws: Why there are no rules.
    func experiments() async throws(ExperimentationError) -> [VendorExperiment]? {
        guard let rules else { return try await seen?.experiments() ?? [] }
        let atHand = await rules.atHand().map { VendorExperiment.all(in: $0.catalogue) }
        if let atHand, side == .old || !(isOff || atHand.isEmpty) { return atHand }
        do throws(ExperimentationError) {
            guard let known = try await rules.current(for: "", inSession: false, isForced: true) else { return nil }
            if isOff, let failure = known.failure { throw failure }
            return VendorExperiment.all(in: known.ruleset.catalogue)
        } catch {
            guard let atHand, !isOff else { throw error }
            return atHand
        }
    }

    /// Asks the vendor for decisions.
    ///
    /// - Parameters:
    ///   - context: The user, with the places to tell the vendor.
    ///   - isForced: Whether rules are fetched even if they are fresh.
    ///   - isShadow: Whether the answer is only for a comparison.
    /// - Returns: The answer; `nil` if the vendor is disabled.
    /// - Throws: Why there is no answer.
    func answer(
        for context: EvaluationContext,
        isForced: Bool = false,
        isShadow: Bool = false
    ) async throws(ExperimentationError) -> Answer? {
        let (start, throwings) = (time.instant, killSwitch.throwings)
        var found = try await ask(context, isForced, isShadow)
        await setOff(found == nil, asOf: throwings)
        if let found { keys.withLock { $0 = found.decisions.catalogue.keys } }
        found?.latency = start.duration(to: time.instant)
        return found
    }

    private func ask(
        _ context: EvaluationContext,
        _ isForced: Bool,
        _ isShadow: Bool
    ) async throws(ExperimentationError) -> Answer? {
        let start = time.now
        switch roles.decisions {
        case .asked(let source):
            guard case .decided(let decisions) = try await source.decisions(for: context) else { return nil }
            let earliest = start.addingTimeInterval(-(source.freshness.answerAge / .seconds(1)))
            // The clock may have been set back meanwhile.
            let latest = max(start, time.now)
            await seen?.note(decisions)
            return Answer(decisions: decisions, asked: earliest...latest, latency: .zero)
        case .computed:
            let rules = try await rules?.current(
                for: context.user.id,
                inSession: context.isOfSession,
                isForced: isForced,
                isShadow: isShadow
            )
            guard let known = rules else { return nil }
            // A failure doesn't say that a disabled vendor is back.
            if isOff, known.failure != nil { return nil }
            return Answer(
                decisions: known.ruleset.decisions(for: context),
                version: known.version,
                age: known.age,
                asked: known.age.map { age in
                    let date = time.now.addingTimeInterval(-(age / .seconds(1)))
                    return date...date
                },
                latency: .zero
            )
        case nil: throw ExperimentationError(.unsupported, "\(name) has no flags or experiments.")
        }
    }
}
