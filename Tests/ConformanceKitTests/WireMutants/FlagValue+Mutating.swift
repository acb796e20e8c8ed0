import Experimentation

/// Changes inside a document by paths like `h.*.qt`, where `*` matches each element of a list or object.
extension FlagValue {
    /// Changes the values at a path, wherever it exists.
    mutating func change(_ path: String, _ change: (FlagValue) -> FlagValue?) {
        self.change(path.split(separator: ".").map(String.init)[...], change)
    }

    /// Removes the values at a path.
    mutating func drop(_ path: String) { change(path) { _ in nil } }

    /// Replaces the values at a path.
    mutating func set(_ path: String, _ value: FlagValue) { change(path) { _ in value } }

    /// Renames a member of each object at a path.
    mutating func rename(_ path: String, _ name: String, _ other: String) {
        change(path) { object in
            guard case .object(var members) = object, let value = members.removeValue(forKey: name) else {
                return object
            }
            members[other] = value
            return .object(members)
        }
    }

    /// Swaps two members of each object at a path.
    mutating func swap(_ path: String, _ one: String, _ other: String) {
        change(path) { object in
            guard case .object(var members) = object else { return object }
            (members[one], members[other]) = (members[other], members[one])
            return .object(members)
        }
    }

    private mutating func change(_ path: ArraySlice<String>, _ change: (FlagValue) -> FlagValue?) {
        guard let step = path.first else {
            self = change(self) ?? .null
            return
        }
        let rest = path.dropFirst()
        switch self {
        case .object(var members):
            for key in step == "*" ? Array(members.keys) : [step] {
                guard var value = members[key] else { continue }
                if rest.isEmpty {
                    members[key] = change(value)
                } else {
                    value.change(rest, change)
                    members[key] = value
                }
            }
            self = .object(members)
        case .array(let values) where step == "*":
            self = .array(
                values.compactMap { value in
                    if rest.isEmpty { return change(value) }
                    var value = value
                    value.change(rest, change)
                    return value
                }
            )
        default: break
        }
    }
}
