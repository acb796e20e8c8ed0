import Experimentation

/// Removing users who deny consent.
extension People {
    /// Deletes a user's records and what leads to them, by any of the user's ids, and notifies decisions under way.
    ///
    /// - Throws: ``ErrorCode/store``.
    func forget(_ userID: String) async throws(ExperimentationError) {
        removals.note(userID)
        try await remove(userID)
    }

    /// Removes what a decision has written about a user who was removed meanwhile; if that fails, the next decision for
    /// any user tries again.
    ///
    /// - Throws: ``ErrorCode/store``.
    func withdraw(_ identity: Identity, under digest: String) async throws(ExperimentationError) {
        owed.add(OwedRemovals.Written(identity: identity, digest: digest))
        try await removeOwed()
    }

    /// Removes what couldn't be removed before.
    ///
    /// - Throws: ``ErrorCode/store``.
    func removeOwed() async throws(ExperimentationError) {
        for written in owed.all {
            try await remove(written.identity.id, written)
            owed.end(written)
        }
    }

    /// Removes the aliases of a user that lead to a record that others have written since, unless it names them.
    ///
    /// - Parameters:
    ///   - identity: The user.
    ///   - digest: The digest under which the record is stored.
    /// - Throws: ``ErrorCode/store``.
    func withdrawAliases(of identity: Identity, to digest: String) async throws(ExperimentationError) {
        func named() async throws(ExperimentationError) -> Set<String> {
            try await stored(under: digest)?.person.names ?? []
        }
        let names = Set(Self.names(of: identity, besides: digest)).subtracting(try await named())
        var keys: [String] = []
        for name in names { keys += try await links(from: name, to: digest) }
        if keys.isEmpty { return }
        try await state.removeAll(beginningWith: keys)
        // A caller that has written the record meanwhile relies on them.
        try await lead(Array(names.intersection(try await named())), to: digest)
    }

    /// Deletes a user's records and what leads to them, and what a decision may just have written.
    private func remove(_ userID: String, _ written: OwedRemovals.Written? = nil) async throws(ExperimentationError) {
        let own = StableKey(userID).digest
        let devices = Self.device(own, "")
        var digests = [own] + (try await target(of: own).map { [$0] } ?? [])
        digests += try await state.keys(beginningWith: devices).map { String($0.dropFirst(devices.count)) }
        var keys = [Self.aliases + own, devices]
        // Another decision may have removed the alias that leads there.
        if let written { digests.append(written.digest) }
        let aliases = written.map { Self.ids(of: $0.identity).map { StableKey($0).digest } } ?? []
        for digest in digests {
            let found = try await stored(under: digest)
            if found != nil { keys.append(Self.prefix + digest) }
            for name in (found?.person.names ?? []).union(aliases).sorted() {
                keys += try await links(from: name, to: digest)
            }
        }
        try await state.removeAll(beginningWith: keys)
    }

    /// The keys of what leads from an id to a record.
    private func links(from name: String, to digest: String) async throws(ExperimentationError) -> [String] {
        // The alias of another user of the device may lead to a record of their own.
        let alias = try await target(of: name) == digest ? [Self.aliases + name] : []
        return [Self.device(name, digest)] + alias
    }
}
