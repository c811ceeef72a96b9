// LeetCode's tree, level by level with null for a missing child.
use crate::rewarden::values::{bad, Decode, Encode, Fault, Json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

type Child = Option<Rc<RefCell<TreeNode>>>;

#[derive(Debug, PartialEq, Eq)]
pub struct TreeNode {
    pub val: i32,
    pub left: Child,
    pub right: Child,
}

impl TreeNode {
    pub fn new(val: i32) -> Self {
        TreeNode { val, left: None, right: None }
    }
}

impl Encode for TreeNode {
    fn encode(&self, out: &mut String, depth: usize) -> Result<(), Fault> {
        let mut values = vec![Some(self.val)];
        let mut waiting = VecDeque::from([self.left.clone(), self.right.clone()]);
        while let Some(child) = waiting.pop_front() {
            if values.len() >= 100_000 {
                return Err(Fault::Uncrossable("a tree without an end".to_string()));
            }
            values.push(child.as_ref().map(|node| node.borrow().val));
            if let Some(node) = child {
                waiting.push_back(node.borrow().left.clone());
                waiting.push_back(node.borrow().right.clone());
            }
        }
        while values.last() == Some(&None) {
            values.pop();
        }
        values.encode(out, depth)
    }
}

impl Decode for TreeNode {
    fn decode(json: &Json) -> Result<Self, Fault> {
        let values: Vec<Option<i32>> = Vec::decode(json)?;
        let made: Vec<Child> = values.iter().map(|val| val.map(|val| Rc::new(RefCell::new(TreeNode::new(val))))).collect();
        let mut at = 1;
        let mut child = || {
            at += 1;
            made.get(at - 1).cloned().flatten()
        };
        for node in made.iter().flatten() {
            node.borrow_mut().left = child();
            node.borrow_mut().right = child();
        }
        let root = made.first().cloned().flatten();
        drop(made);
        match root.map(Rc::try_unwrap) {
            Some(Ok(root)) => Ok(root.into_inner()),
            _ => bad("a tree without a root"),
        }
    }

    fn absent(json: &Json) -> bool {
        *json == Json::Null || Vec::<Option<i32>>::decode(json).map_or(false, |values| values.is_empty())
    }
}
