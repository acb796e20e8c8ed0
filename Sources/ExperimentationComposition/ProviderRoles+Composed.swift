import Experimentation

extension ProviderRoles {
    /// Combines the roles of several vendors.
    init(of parts: Parts, _ table: EventTable, _ exposures: ExposureEvent, in context: ProviderContext) {
        let linkers = parts.all.compactMap { part in part.roles.identity.map { (name: part.name, linker: $0) } }
        let limits = parts.all.compactMap(\.roles.campaigns?.limitPerTarget)
        let (decisions, changes, forget) = Self.deciding(parts, in: context)
        self.init(
            decisions: decisions,
            identity: linkers.isEmpty ? nil : ComposedLinker(linkers: linkers),
            campaigns: limits.max().map { CampaignPolicy(limitPerTarget: $0) },
            needsConsent: parts.deciding.contains(where: \.roles.needsConsent)
        )
        assignments = AssignmentPolicy(
            isSticky: parts.deciding.contains(where: \.roles.assignments.isSticky),
            allowsOverrides: parts.deciding.contains(where: \.roles.assignments.allowsOverrides)
        )
        self.changes = changes
        flagSeen = Self.flagSeen(parts)
        furtherRoutes = Self.routes(parts, RoutedSink.Rules(of: parts, table, exposures))
        furtherExtras = parts.all.flatMap { part in
            (part.roles.extras.map { [$0] } ?? []) + part.roles.furtherExtras
        }
        if parts.all.contains(where: { $0.roles.remoteSwitch != nil }) { remoteSwitch = ComposedSwitch(parts: parts) }
        if parts.all.contains(where: { $0.roles.prepare != nil }) {
            prepare = { event async throws(ExperimentationError) in
                for part in parts.all {
                    do throws(ExperimentationError) { try await part.roles.prepare?(event) } catch {
                        throw error.of(part.name)
                    }
                }
            }
        }
        self.forget = { userID async throws(ExperimentationError) in
            forget(userID)
            var failure: ExperimentationError?
            for part in parts.all {
                do throws(ExperimentationError) { try await part.roles.forget(userID) } catch {
                    failure = failure ?? error.of(part.name)
                }
            }
            if let failure { throw failure }
        }
        stop = { deadline in
            _ = await parts.all.indices.asyncMap { await parts.all[$0].roles.stop(deadline) }
        }
    }

    private static func routes(_ parts: Parts, _ rules: RoutedSink.Rules) -> [EventRoute] {
        parts.all.flatMap { part in
            part.routes.map { route in
                var route = route
                route.sink = RoutedSink(part: part, sink: route.sink, rules: rules, parts: parts)
                route.heedsKillSwitch = false
                return route
            }
        }
    }

    private static func deciding(
        _ parts: Parts,
        in context: ProviderContext
    ) -> (Deciding?, ComposedChanges?, forget: @Sendable (_ userID: String) -> Void) {
        if parts.deciding.isEmpty { return (nil, nil, { _ in }) }
        let log = context.environment.log
        let computed = parts.deciding.compactMap { part -> (any RulesetSource)? in
            if case .computed(let source)? = part.roles.decisions { source } else { nil }
        }
        if computed.count == parts.deciding.count {
            // The client keeps the rules of all as one.
            let changes = ComposedChanges(parts, Array(repeating: nil, count: computed.count))
            return (.computed(ComposedRulesetSource(parts, computed, log: log)), changes, { _ in })
        }
        let origins = parts.deciding.compactMap { part -> ComposedDecisionSource.Origin? in
            switch part.roles.decisions {
            case .asked(let source): .asked(source)
            case .computed(let source): .computed(PartRules(source, in: part.context))
            case nil: nil
            }
        }
        let source = ComposedDecisionSource(parts, origins, log: log)
        let rules = origins.map { if case .computed(let rules) = $0 { rules } else { nil as PartRules? } }
        return (.asked(source), ComposedChanges(parts, rules), { source.forget($0) })
    }

    /// Tells each vendor what users see of its own experiments; `nil` if none needs to know.
    private static func flagSeen(_ parts: Parts) -> (@Sendable (FlagSight) -> Void)? {
        var told: [String: @Sendable (FlagSight) -> Void] = [:]
        for part in parts.deciding { told[part.name] = part.roles.flagSeen }
        if told.isEmpty { return nil }
        return { [told] sight in
            var exposure = sight.exposure
            guard let name = exposure.assignment.provider, let tell = told[name] else { return }
            exposure.assignment = exposure.assignment.asGiven
            tell(FlagSight(user: sight.user, exposure: exposure, isRecorded: sight.isRecorded))
        }
    }
}

extension RoutedSink.Rules {
    init(of parts: Parts, _ table: EventTable, _ exposures: ExposureEvent) {
        self.init(
            table: table,
            exposures: exposures,
            takeOwnExposures: Set(parts.all.filter(\.takesExposures).map(\.name))
        )
    }
}
