// LeetCode's list, as a list of its values.
use crate::rewarden::values::{bad, Decode, Encode, Fault, Json};

#[derive(PartialEq, Eq, Clone, Debug)]
pub struct ListNode {
    pub val: i32,
    pub next: Option<Box<ListNode>>,
}

impl ListNode {
    pub fn new(val: i32) -> Self {
        ListNode { next: None, val }
    }
}

impl Encode for ListNode {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        let mut values = vec![self.val];
        let mut next = &self.next;
        while let Some(node) = next {
            values.push(node.val);
            next = &node.next;
        }
        values.encode(out, depth)
    }
}

impl Decode for ListNode {
    fn decode(json: &Json) -> Result<Self, Fault> {
        let mut values: Vec<i32> = Vec::decode(json)?;
        let mut next = None;
        while values.len() > 1 {
            next = values.pop().map(|val| Box::new(ListNode { val, next }));
        }
        match values.pop() {
            Some(val) => Ok(ListNode { val, next }),
            None => bad("a list without a node"),
        }
    }

    fn absent(json: &Json) -> bool {
        *json == Json::Null || Vec::<i32>::decode(json).map_or(false, |values| values.is_empty())
    }
}
