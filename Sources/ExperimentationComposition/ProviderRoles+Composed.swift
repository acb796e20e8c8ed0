import Experimentation

extension ProviderRoles {
    /// Combines the roles of several vendors.
    init(of parts: Parts, _ table: EventTable, _ exposures: ExposureEvent, in context: ProviderContext) {
        let linkers = parts.all.compactMap { part in part.roles.identity.map { (name: part.name, linker: $0) } }
        let limits = parts.all.compactMap(\.roles.campaigns?.limitPerTarget)
        let (decisions, forget) = Self.deciding(parts, in: context)
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
        furtherRoutes = Self.routes(parts, RoutedSink.Rules(of: parts, table, exposures))
        furtherExtras = parts.all.flatMap { part in
            (part.roles.extras.map { [$0] } ?? []) + part.roles.furtherExtras
        }
        if parts.all.contains(where: { $0.roles.remoteSwitch != nil }) { remoteSwitch = ComposedSwitch(parts: parts) }
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
    ) -> (Deciding?, forget: @Sendable (_ userID: String) -> Void) {
        if parts.deciding.isEmpty { return (nil, { _ in }) }
        let log = context.environment.log
        let computed = parts.deciding.compactMap { part -> (any RulesetSource)? in
            if case .computed(let source)? = part.roles.decisions { source } else { nil }
        }
        if computed.count == parts.deciding.count {
            return (.computed(ComposedRulesetSource(parts, computed, log: log)), { _ in })
        }
        let origins = parts.deciding.compactMap { part -> ComposedDecisionSource.Origin? in
            switch part.roles.decisions {
            case .asked(let source): .asked(source)
            case .computed(let source): .computed(PartRules(source, in: part.context))
            case nil: nil
            }
        }
        let source = ComposedDecisionSource(parts, origins, log: log)
        return (.asked(source), { source.forget($0) })
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
